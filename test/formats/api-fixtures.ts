/** Long enough to be worth a placeholder, and over the guard's limit when a policy lowers it. */
const output = "src/alpha.ts\nsrc/beta.ts\nsrc/gamma.ts\n".repeat(40);

const steps = ["a", "b", "c", "d"] as const;

const image = { mimeType: "image/png", data: "iVBORw0KGgo=" } as const;

/** A conversation as a provider's own types describe it, and how to name that type. */
export interface ApiFixture {
	/** The format's name in reports. */
	readonly format: string;
	/** Statement that imports the type. */
	readonly importType: string;
	/** The type of the list of messages. */
	readonly type: string;
	readonly messages: readonly unknown[];
}

/** One conversation a format, with four tool turns, one of them parallel, written by the provider's documentation. */
export const apiFixtures: readonly ApiFixture[] = [
	{
		format: "openai-chat",
		importType: 'import type OpenAI from "openai";',
		type: "OpenAI.ChatCompletionMessageParam[]",
		messages: [
			{ role: "system", content: "You are an agent." },
			{ role: "user", content: [{ type: "text", text: "List the files." }] },
			...steps.flatMap((id) => [
				{
					role: "assistant",
					content: null,
					tool_calls: [`${id}1`, `${id}2`].map((call) => ({
						id: call,
						type: "function",
						function: { name: "list", arguments: "{}" },
					})),
				},
				{ role: "tool", tool_call_id: `${id}1`, content: output },
				{ role: "tool", tool_call_id: `${id}2`, content: [{ type: "text", text: output }] },
			]),
			{ role: "assistant", content: "Done." },
		],
	},
	{
		format: "openai-responses",
		importType: 'import type OpenAI from "openai";',
		type: "OpenAI.Responses.ResponseInputItem[]",
		messages: [
			{ role: "user", content: [{ type: "input_text", text: "List the files." }] },
			...steps.flatMap((id) => [
				{ type: "reasoning", id: `rs_${id}`, summary: [], encrypted_content: "gAAAA" },
				{ type: "function_call", call_id: id, name: "list", arguments: "{}" },
				{ type: "function_call_output", call_id: id, output },
			]),
			{ type: "message", role: "assistant", content: "Done." },
		],
	},
	{
		format: "anthropic-messages",
		importType: 'import type Anthropic from "@anthropic-ai/sdk";',
		type: "Anthropic.MessageParam[]",
		messages: [
			{ role: "user", content: "List the files." },
			...steps.flatMap((id) => [
				{
					role: "assistant",
					content: [
						{ type: "thinking", thinking: "Let me look.", signature: "c2lnbmF0dXJl" },
						{ type: "tool_use", id: `${id}1`, name: "list", input: {} },
						{ type: "tool_use", id: `${id}2`, name: "look", input: {} },
					],
				},
				{
					role: "user",
					content: [
						{ type: "tool_result", tool_use_id: `${id}1`, content: output },
						{
							type: "tool_result",
							tool_use_id: `${id}2`,
							content: [
								{ type: "text", text: output },
								{ type: "image", source: { type: "base64", media_type: image.mimeType, data: image.data } },
							],
						},
					],
				},
			]),
			{ role: "assistant", content: [{ type: "text", text: "Done." }] },
		],
	},
	{
		format: "gemini",
		importType: 'import type { Content } from "@google/genai";',
		type: "Content[]",
		messages: [
			{ role: "user", parts: [{ text: "List the files." }] },
			...steps.flatMap((id) => [
				{ role: "model", parts: [{ functionCall: { id, name: "list", args: {} } }] },
				{ role: "user", parts: [{ functionResponse: { id, name: "list", response: { output } } }] },
			]),
			{ role: "model", parts: [{ text: "Done." }] },
		],
	},
	{
		format: "ollama",
		importType: 'import type { Message } from "ollama";',
		type: "Message[]",
		messages: [
			{ role: "system", content: "You are an agent." },
			{ role: "user", content: "List the files.", images: ["iVBORw0KGgo="] },
			...steps.flatMap((id) => [
				{
					role: "assistant",
					content: "",
					thinking: "Both.",
					tool_calls: ["list", "grep"].map((name) => ({ function: { name, arguments: { path: id } } })),
				},
				{ role: "tool", tool_name: "list", content: output },
				{ role: "tool", tool_name: "grep", content: output },
			]),
			{ role: "assistant", content: "Done." },
		],
	},
	{
		format: "vercel-model",
		importType: 'import type { ModelMessage } from "ai";',
		type: "ModelMessage[]",
		messages: [
			{ role: "user", content: "List the files." },
			...steps.flatMap((id) => [
				{ role: "assistant", content: [{ type: "tool-call", toolCallId: id, toolName: "list", input: {} }] },
				{
					role: "tool",
					content: [{ type: "tool-result", toolCallId: id, toolName: "list", output: { type: "text", value: output } }],
				},
			]),
			{ role: "assistant", content: [{ type: "text", text: "Done." }] },
		],
	},
	{
		format: "vercel-ui",
		importType: 'import type { UIMessage } from "ai";',
		type: "UIMessage[]",
		messages: [
			{ id: "u", role: "user", parts: [{ type: "text", text: "List the files." }] },
			...steps.map((id) => ({
				id: `m-${id}`,
				role: "assistant",
				parts: [
					{ type: "step-start" },
					{ type: "tool-list", toolCallId: id, state: "output-available", input: {}, output },
					{ type: "text", text: "One more." },
				],
			})),
		],
	},
	{
		format: "mcp-sampling",
		importType: 'import type { SamplingMessage } from "@modelcontextprotocol/sdk/types.js";',
		type: "SamplingMessage[]",
		messages: [
			{ role: "user", content: { type: "text", text: "List the files." } },
			...steps.flatMap((id) => [
				{ role: "assistant", content: [{ type: "tool_use", id, name: "list", input: {} }] },
				{ role: "user", content: [{ type: "tool_result", toolUseId: id, content: [{ type: "text", text: output }] }] },
			]),
			{ role: "assistant", content: { type: "text", text: "Done." } },
		],
	},
];
