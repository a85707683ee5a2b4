import { describe, expect, it } from "vitest";
import { applyPlan } from "../../src/engine/conversation/apply.ts";
import { verify } from "../../src/engine/conversation/verify.ts";
import { readConversation } from "../../src/formats/detect.ts";
import { compact, guard } from "../../src/library.ts";
import { roughCount } from "../support/rough-count.ts";
import { outputOf } from "../support/sample-text.ts";

interface Linked {
	readonly title: string;
	readonly messages: readonly unknown[];
	/** Texts of blocks that stay or go together. */
	readonly together: readonly (readonly string[])[];
}

const long = outputOf("thoughts", 60);
const around = (turn: (number: number) => readonly unknown[], middle: readonly unknown[]): unknown[] =>
	[0, 1, 2, 3, 4, 5].flatMap((number) => [...turn(number), ...(number === 2 ? middle : [])]);

const anthropicTurn = (number: number) => [
	{ role: "assistant", content: [{ type: "tool_use", id: `t${number}`, name: "ls", input: {} }] },
	{ role: "user", content: [{ type: "tool_result", tool_use_id: `t${number}`, content: outputOf(`o${number}`, 40) }] },
];
const serverCall = (id: string, name: string) => ({ type: "server_tool_use", id, name, input: { query: "x" } });
const spoken = { type: "text", text: long };
const paused = [
	{ role: "assistant", content: [spoken, serverCall("srv-a", "web_search")] },
	{ role: "assistant", content: [{ type: "web_search_tool_result", tool_use_id: "srv-a", content: [] }, spoken] },
	{ role: "user", content: "Go on." },
];
const fromCode = [
	{
		role: "assistant",
		content: [
			spoken,
			serverCall("srv-c", "code_execution"),
			{
				type: "tool_use",
				id: "made",
				name: "ls",
				input: {},
				caller: { type: "code_execution_20250825", tool_id: "srv-c" },
			},
		],
	},
	{ role: "user", content: [{ type: "tool_result", tool_use_id: "made", content: long }] },
	{
		role: "assistant",
		content: [
			{
				type: "tool_use",
				id: "made-2",
				name: "ls",
				input: {},
				caller: { type: "code_execution_20250825", tool_id: "srv-c" },
			},
		],
	},
	{ role: "user", content: [{ type: "tool_result", tool_use_id: "made-2", content: long }] },
	{ role: "assistant", content: [{ type: "code_execution_tool_result", tool_use_id: "srv-c", content: {} }] },
];
const connector = [
	{
		role: "assistant",
		content: [spoken, { type: "mcp_tool_use", id: "mcp-a", name: "find", server_name: "s", input: {} }],
	},
	{ role: "assistant", content: [{ type: "mcp_tool_result", tool_use_id: "mcp-a", content: [spoken] }] },
];
const task = { role: "user", content: "The task." };
const ends = [
	{ role: "assistant", content: "Done." },
	{ role: "user", content: "Write it up." },
];

/** The messages of Anthropic's API as Claude Code records them, one record for each. */
const asRecords = (messages: readonly unknown[]) =>
	messages.map((message, index) => ({
		type: (message as { role: string }).role,
		uuid: `u${index}`,
		parentUuid: index === 0 ? null : `u${index - 1}`,
		sessionId: "s",
		message: { ...(message as object), ...((message as { role: string }).role === "assistant" && { id: `m${index}` }) },
	}));

const vercelTurn = (number: number) => [
	{ role: "assistant", content: [{ type: "tool-call", toolCallId: `t${number}`, toolName: "ls", input: {} }] },
	{
		role: "tool",
		content: [
			{
				type: "tool-result",
				toolCallId: `t${number}`,
				toolName: "ls",
				output: { type: "text", value: outputOf(`o${number}`, 40) },
			},
		],
	},
];
const vercelCode = {
	type: "tool-call",
	toolCallId: "srv-v",
	toolName: "code_execution",
	input: {},
	providerExecuted: true,
};
const vercelCaller = { anthropic: { caller: { type: "code_execution_20250825", toolId: "srv-v" } } };
const vercelMiddle = [
	{ role: "assistant", content: [spoken, vercelCode] },
	{
		role: "assistant",
		content: [
			{ type: "tool-call", toolCallId: "made", toolName: "ls", input: {}, providerOptions: vercelCaller },
			spoken,
		],
	},
	{
		role: "tool",
		content: [{ type: "tool-result", toolCallId: "made", toolName: "ls", output: { type: "text", value: long } }],
	},
	{
		role: "assistant",
		content: [
			{
				type: "tool-result",
				toolCallId: "srv-v",
				toolName: "code_execution",
				output: { type: "json", value: { return_code: 0 } },
			},
		],
	},
];

const langchainTurn = (number: number) => [
	{ type: "ai", content: "", tool_calls: [{ id: `t${number}`, name: "ls", args: {} }] },
	{ type: "tool", tool_call_id: `t${number}`, content: outputOf(`o${number}`, 40) },
];
const ofLangchain = (content: readonly unknown[]) => ({ type: "ai", content, tool_calls: [] });

const pydanticTurn = (number: number) => [
	{ kind: "response", parts: [{ part_kind: "tool-call", tool_call_id: `t${number}`, tool_name: "ls", args: "{}" }] },
	{
		kind: "request",
		parts: [
			{ part_kind: "tool-return", tool_call_id: `t${number}`, tool_name: "ls", content: outputOf(`o${number}`, 40) },
		],
	},
];
const pydanticText = { part_kind: "text", content: long };

const geminiTurn = (number: number) => [
	{ role: "model", parts: [{ functionCall: { name: "ls", args: { number } } }] },
	{ role: "user", parts: [{ functionResponse: { name: "ls", response: { output: outputOf(`o${number}`, 40) } } }] },
];

const responsesTurn = (number: number) => [
	{ type: "function_call", call_id: `t${number}`, name: "ls", arguments: "{}" },
	{ type: "function_call_output", call_id: `t${number}`, output: outputOf(`o${number}`, 40) },
];

const rows: readonly Linked[] = [
	{
		title: "Anthropic Messages: a paused turn of a server tool",
		messages: [task, ...around(anthropicTurn, paused), ...ends],
		together: [['"id":"srv-a"', '"tool_use_id":"srv-a"']],
	},
	{
		title: "Anthropic Messages: calls that code made",
		messages: [task, ...around(anthropicTurn, fromCode), ...ends],
		together: [['"id":"srv-c"', '"tool_id":"srv-c"', '"tool_use_id":"srv-c"', '"id":"made-2"', '"tool_use_id":"made"']],
	},
	{
		title: "Anthropic Messages: a call of the MCP connector",
		messages: [task, ...around(anthropicTurn, connector), ...ends],
		together: [['"id":"mcp-a"', '"tool_use_id":"mcp-a"']],
	},
	{
		title: "Claude Code: the same in records of their own",
		messages: asRecords([task, ...around(anthropicTurn, [...paused, ...fromCode, ...connector]), ...ends]),
		together: [
			['"id":"srv-a"', '"tool_use_id":"srv-a"'],
			['"id":"srv-c"', '"tool_id":"srv-c"', '"tool_use_id":"srv-c"', '"tool_use_id":"made"'],
			['"id":"mcp-a"', '"tool_use_id":"mcp-a"'],
		],
	},
	{
		title: "Vercel AI SDK: a call that code made, and the result of that code",
		messages: [task, ...around(vercelTurn, vercelMiddle), ...ends],
		together: [['"toolCallId":"srv-v","toolName":"code_execution","input"', '"toolId":"srv-v"', "return_code"]],
	},
	{
		title: "LangChain: blocks of Anthropic's server tools",
		messages: [
			{ type: "human", content: "The task." },
			...around(langchainTurn, [
				ofLangchain([spoken, serverCall("srv-l", "web_search")]),
				ofLangchain([{ type: "web_search_tool_result", tool_use_id: "srv-l", content: [] }, spoken]),
			]),
			{ type: "human", content: "Write it up." },
		],
		together: [['"id":"srv-l"', '"tool_use_id":"srv-l"']],
	},
	{
		title: "LangChain: standard blocks of server tools",
		messages: [
			{ type: "human", content: "The task." },
			...around(langchainTurn, [
				ofLangchain([spoken, { type: "server_tool_call", id: "srv-s", name: "web_search", args: {} }]),
				ofLangchain([{ type: "server_tool_result", tool_call_id: "srv-s", output: [] }, spoken]),
			]),
			{ type: "human", content: "Write it up." },
		],
		together: [['"id":"srv-s"', '"tool_call_id":"srv-s"']],
	},
	{
		title: "PydanticAI: a built-in tool",
		messages: [
			{ kind: "request", parts: [{ part_kind: "user-prompt", content: "The task." }] },
			...around(pydanticTurn, [
				{
					kind: "response",
					parts: [
						pydanticText,
						{ part_kind: "builtin-tool-call", tool_call_id: "srv-p", tool_name: "web_search", args: {} },
					],
				},
				{
					kind: "response",
					parts: [{ part_kind: "builtin-tool-return", tool_call_id: "srv-p", tool_name: "web_search", content: [] }],
				},
			]),
			{ kind: "request", parts: [{ part_kind: "user-prompt", content: "Write it up." }] },
		],
		together: [['"builtin-tool-call"', '"builtin-tool-return"']],
	},
	{
		title: "Gemini: code that Google runs",
		messages: [
			{ role: "user", parts: [{ text: "The task." }] },
			...around(geminiTurn, [
				{ role: "model", parts: [{ text: long }, { executableCode: { language: "PYTHON", code: "1" } }] },
				{ role: "user", parts: [{ text: "Go on." }] },
				{ role: "model", parts: [{ codeExecutionResult: { outcome: "OUTCOME_OK", output: "1" } }] },
				{ role: "user", parts: [{ text: "And now?" }] },
			]),
			{ role: "model", parts: [{ text: "Done." }] },
			{ role: "user", parts: [{ text: "Write it up." }] },
		],
		together: [["executableCode", "codeExecutionResult"]],
	},
	{
		title: "OpenAI Responses: an approved call of an MCP server",
		messages: [
			task,
			...around(responsesTurn, [
				{ type: "mcp_approval_request", id: "ask", server_label: "s", name: "pay", arguments: "{}" },
				{ type: "mcp_approval_response", approval_request_id: "ask", approve: true },
				{
					type: "mcp_call",
					id: "mcp-r",
					approval_request_id: "ask",
					server_label: "s",
					name: "pay",
					arguments: "{}",
					output: long,
				},
				{ role: "user", content: "Go on." },
			]),
			{ role: "user", content: "Write it up." },
		],
		together: [['"id":"ask"', '"approval_request_id":"ask","approve"', '"id":"mcp-r"']],
	},
];

/** The groups of which a part is left. */
function parted(written: unknown, together: Linked["together"]): string[] {
	const text = JSON.stringify(written);
	return together.flatMap((group) => {
		const left = group.filter((one) => text.includes(one));
		return left.length === 0 || left.length === group.length ? [] : [left.join(" ")];
	});
}

describe.each(rows)("$title", ({ messages, together }) => {
	it("is dropped as a whole, or not at all", async () => {
		const found = new Set<string>();
		const seen = new Set<boolean>();
		for (let contextWindow = 300; contextWindow <= 9_000; contextWindow += 300) {
			const policy = { guard: { ladder: ["drop" as const], reserve_tokens: 0 } };
			const { conversation, error } = await guard(messages, { contextWindow, policy });
			expect(error).toBeUndefined();
			for (const part of parted(conversation, together)) found.add(part);
			seen.add(JSON.stringify(conversation).includes(together[0]?.[0] ?? ""));
		}
		expect([...found]).toEqual([]);
		expect(seen.size).toBe(2);
	});

	it("is summarised as a whole, or not at all", async () => {
		for (let keep = 1; keep <= 14; keep += 1) {
			const policy = { compaction: { keep_last_messages: keep } };
			const given = {
				strategy: "llm-summary" as const,
				force: true,
				contextWindow: 64_000,
				summary: "## Task\nGo on.",
				policy,
			};
			const { conversation } = await compact(messages, given);
			expect([keep, parted(conversation, together)]).toEqual([keep, []]);
		}
	});

	it("is missed by the verifier if a part of it is gone", () => {
		const read = (document: unknown) => ({ document, transcript: readConversation(document).transcript });
		const before = read(messages);
		const [first = ""] = together[0] ?? [];
		const index = messages.findIndex((message) => JSON.stringify(message).includes(first));
		const size = { chars: 1, tokens: 1 };
		const message = before.transcript.messages.findIndex(({ paths }) => paths.some(([at]) => at === index));
		const plan = (before.transcript.messages[message]?.paths ?? []).map((path) => {
			const none = { chars: 0, tokens: 0 };
			return { kind: "remove", reason: "drop", path, message, before: size, after: none } as const;
		});
		const after = read(applyPlan(messages, plan));
		const violations = verify(before, after, { plan, base: [], countTokens: roughCount });
		expect(violations.map(({ promise }) => promise)).toContain("pairing_kept");
	});
});
