import { describe, expect, it } from "vitest";
import { readConversation } from "../../src/formats/detect.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { outputOf } from "../support/sample-text.ts";
import { masking, placeholder } from "./format-row.ts";

const [first, last] = [outputOf("first"), outputOf("last")];

/** The outputs of a conversation, and whether the first one was masked wherever it stood. */
async function masked(conversation: unknown) {
	const { format, transcript } = readConversation(conversation);
	const edited = JSON.stringify((await maskConversation({ conversation, policy: masking })).conversation);
	return {
		format: format.name,
		pairs: transcript.messages.flatMap(({ calls, results }) => [
			...calls.map(({ id, name }) => [id, name]),
			...results.map(({ callId, isError }) => [callId, isError]),
		]),
		isMasked:
			!edited.includes(JSON.stringify(first).slice(1, -1)) && edited.includes(JSON.stringify(last).slice(1, -1)),
	};
}

describe("LlamaIndex", () => {
	it("masks the text of a result and its copy in the content", async () => {
		const turn = (id: string, result: string) => [
			{ role: "assistant", content: "", options: { toolCall: [{ id, name: "read", input: {} }] } },
			{ role: "user", content: result, options: { toolResult: { id, result, isError: false } } },
		];
		const found = await masked([{ role: "user", content: "Go." }, ...turn("a", first), ...turn("b", last)]);
		expect(found).toMatchObject({ format: "llamaindex", isMasked: true });
	});

	it("reads the blocks of its Python edition", async () => {
		const text = (value: string) => [{ block_type: "text", text: value }];
		const turn = (id: string, result: string) => [
			{
				role: "assistant",
				additional_kwargs: { tool_calls: [{ id, type: "function", function: { name: "read", arguments: "{}" } }] },
				blocks: [
					{ block_type: "thinking", content: "I read it.", additional_information: { signature: "s" } },
					{ block_type: "tool_call", tool_call_id: id, tool_name: "read", tool_kwargs: {} },
				],
			},
			{ role: "tool", additional_kwargs: { name: "read", tool_call_id: id }, blocks: text(result) },
		];
		const messages = [
			{ role: "user", additional_kwargs: {}, blocks: text("Go.") },
			...turn("a", first),
			...turn("b", last),
		];
		expect(await masked({ store: { chat_history: messages } })).toEqual({
			format: "llamaindex",
			pairs: [
				["a", "read"],
				["a", undefined],
				["b", "read"],
				["b", undefined],
			],
			isMasked: true,
		});
		expect(readConversation(messages).transcript.messages[1]?.thinking).toMatchObject([{ bound: true }]);
	});
});

describe("Microsoft Agent Framework", () => {
	it("reads a session of its Python edition, and masks the parts of a result beside its text", async () => {
		const turn = (call_id: string, result: string, more = {}) => [
			{
				type: "message",
				role: "assistant",
				contents: [{ type: "function_call", call_id, name: "read", arguments: "{}" }],
			},
			{
				type: "message",
				role: "tool",
				contents: [{ type: "function_result", call_id, result, items: [{ type: "text", text: result }], ...more }],
			},
		];
		const messages = [...turn("a", first), ...turn("b", last, { exception: "No such file." })];
		expect(await masked({ type: "session", state: { in_memory: { messages } } })).toEqual({
			format: "agent-framework",
			pairs: [
				["a", "read"],
				["a", undefined],
				["b", "read"],
				["b", true],
			],
			isMasked: true,
		});
	});

	it("masks contents that a function of .NET returned", async () => {
		const turn = (callId: string, result: string) => [
			{ role: "assistant", contents: [{ $type: "functionCall", callId, name: "read", arguments: {} }] },
			{ role: "tool", contents: [{ $type: "functionResult", callId, result: [{ $type: "text", text: result }] }] },
		];
		const conversation = [...turn("a", first), ...turn("b", last)];
		const outcome = await maskConversation({ conversation, policy: masking });
		const [, answer] = outcome.conversation as { contents: [{ result: unknown }] }[];
		expect(answer?.contents[0].result).toEqual([{ $type: "text", text: expect.stringMatching(placeholder) }]);
	});
});

describe("Genkit", () => {
	it("pairs results without a `ref` by their place", async () => {
		const turn = (output: string) => [
			{ role: "model", content: [{ toolRequest: { name: "read", input: {} } }] },
			{ role: "tool", content: [{ toolResponse: { name: "read", output } }] },
		];
		const found = await masked([{ role: "user", content: [{ text: "Go." }] }, ...turn(first), ...turn(last)]);
		expect(found).toMatchObject({ format: "genkit", isMasked: true });
	});
});

describe("BeeAI", () => {
	it("reads the messages of its Python edition, whose keys are in snake case", async () => {
		const turn = (id: string, result: string) => [
			{ role: "assistant", meta: {}, content: [{ type: "tool-call", id, tool_name: "read", args: "{}" }] },
			{ role: "tool", meta: {}, content: [{ type: "tool-result", tool_call_id: id, tool_name: "read", result }] },
		];
		const found = await masked([...turn("a", first), ...turn("b", last)]);
		expect(found).toMatchObject({ format: "vercel-model", isMasked: true });
	});
});

describe("Claude Code on the web", () => {
	it("reads the records of an export, which have no ids", async () => {
		const record = (type: string, content: unknown) => {
			return { type, timestamp: "2026-11-29T10:00:00.000Z", message: { role: type, content } };
		};
		const turn = (id: string, content: string) => [
			record("assistant", [{ type: "tool_use", id, name: "read", input: {} }]),
			record("user", [{ type: "tool_result", tool_use_id: id, content }]),
		];
		const found = await masked({ loglines: [record("user", "Go."), ...turn("a", first), ...turn("b", last)] });
		expect(found).toMatchObject({ format: "claude-code", isMasked: true });
	});
});
