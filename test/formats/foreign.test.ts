import { describe, expect, it } from "vitest";
import { readConversation } from "../../src/formats/detect.ts";
import { outputOf } from "../support/sample-text.ts";

const text = outputOf("output");

const droid = [
	{ type: "session_start", id: "s", title: "t", version: 2, cwd: "/w" },
	{ type: "message", id: "m", parentId: null, message: { role: "user", content: [{ type: "text", text: "Go." }] } },
	{
		type: "message",
		id: "a",
		parentId: "m",
		message: { role: "assistant", content: [{ type: "tool_use", id: "t", name: "Execute", input: {} }] },
	},
	{
		type: "message",
		id: "u",
		parentId: "a",
		message: { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: text }] },
	},
];

const commandCode = [
	{ type: "session", version: 3, id: "s", timestamp: "2026-11-28T12:00:00.000Z", cwd: "/w" },
	...droid.slice(1),
];

const cursor = [
	{ type: "system", subtype: "init", session_id: "s", cwd: "/w", model: "auto" },
	{ type: "user", session_id: "s", message: { role: "user", content: [{ type: "text", text: "Go." }] } },
	{ type: "assistant", session_id: "s", message: { role: "assistant", content: [{ type: "text", text: "I look." }] } },
	{
		type: "tool_call",
		subtype: "completed",
		call_id: "c",
		session_id: "s",
		tool_call: { shellToolCall: { args: { command: "ls" }, result: { success: { stdout: text } } } },
	},
	{ type: "result", subtype: "success", session_id: "s", result: "Done." },
];

const crush = [
	{ id: "1", role: "user", parts: [{ type: "text", data: { text: "Go." } }] },
	{
		id: "2",
		role: "assistant",
		parts: [{ type: "tool_call", data: { id: "c", name: "bash", input: "{}", finished: true } }],
	},
	{ id: "3", role: "tool", parts: [{ type: "tool_result", data: { tool_call_id: "c", name: "bash", content: text } }] },
];

const plain = [
	{ role: "user", text: "Go." },
	{ role: "assistant", text, tool_call_id: "c" },
	{ role: "tool", text },
];

const antigravity = [
	{ step_index: 0, source: "USER_EXPLICIT", type: "USER_INPUT", status: "DONE", content: "Go." },
	{ step_index: 1, source: "MODEL", type: "PLANNER_RESPONSE", tool_calls: [{ name: "view_file", args: {} }] },
	{ step_index: 2, source: "MODEL", type: "VIEW_FILE", status: "DONE", content: text },
];

const iflow = [
	{
		type: "assistant",
		uuid: "a",
		message: { role: "assistant", content: [{ type: "tool_use", id: "c", name: "read" }] },
	},
	{
		type: "user",
		uuid: "u",
		message: {
			role: "user",
			content: [
				{ type: "tool_result", tool_use_id: "c", content: { callId: "c", responseParts: { functionResponse: {} } } },
			],
		},
	},
];

const grok = [
	{ type: "user", content: "Go.", timestamp: "2026-11-29T10:00:00.000Z" },
	{ type: "tool_result", content: text, toolCall: { id: "c" }, toolResult: { success: true, output: text } },
];

describe("shapes that resemble a format", () => {
	it.each<[string, readonly unknown[]]>([
		["a compacted session of Factory Droid", [...droid, { type: "compaction_state", id: "k", summaryText: "So far." }]],
		["a session of Antigravity CLI", antigravity],
		[
			"results of Inngest AgentKit",
			["a", "b"].map((agentName) => ({ agentName, output: [], toolCalls: [{ role: "tool_result", content: text }] })),
		],
		["a session of iFlow", iflow],
		["a session of iFlow", JSON.parse(JSON.stringify(iflow).replace('{"functionResponse":{}}', "[]"))],
		["a chat of Grok CLI", grok],
		["a chat of Grok CLI", grok.map(({ toolResult: _, ...record }) => record)],
		[
			"messages of Inngest AgentKit",
			[
				{ role: "user", type: "text", content: "Go." },
				{ role: "tool_result", type: "tool_result", tool: { name: "f" }, content: { data: text } },
			],
		],
		["a stream of AG-UI events", [{ type: "RUN_STARTED", threadId: "t", runId: "r" }, { type: "RUN_FINISHED" }]],
		[
			"telemetry of OpenTelemetry without its messages (`gen_ai.input.messages`)",
			[{ name: "chat", attributes: { "gen_ai.operation.name": "chat" } }],
		],
		["a session of Command Code", commandCode],
		["a stream of the Cursor CLI", cursor],
		["messages of Crush", crush],
		["messages of Crush", crush.map(({ parts, ...row }) => ({ ...row, parts: JSON.stringify(parts) }))],
		["a list of messages with `text` in place of `content`", plain],
	])("are refused by name: %s", (title, messages) => {
		expect(() => readConversation(messages)).toThrow(`This looks like ${title}, which is not supported.`);
		expect(() => readConversation({ messages })).toThrow(`This looks like ${title}`);
	});

	it.each<[string, unknown]>([
		[
			"results of Inngest AgentKit",
			{ results: [{ agentName: "a", output: [{ role: "assistant" }], toolCalls: [{ role: "tool" }] }] },
		],
		[
			"a memory that BeeAI has serialized",
			{ __version: "0.1", __root: { __serializer: true, __class: "TokenMemory" } },
		],
		["telemetry of OpenTelemetry", { resourceLogs: [] }],
	])("are refused by name where a document holds them: %s", (title, document) => {
		expect(() => readConversation(document)).toThrow(`This looks like ${title}`);
	});

	const attributes = {
		"gen_ai.input.messages": JSON.stringify([{ role: "user", parts: [{ type: "text", content: text }] }]),
	};
	const pairs = Object.entries(attributes).map(([key, stringValue]) => ({ key, value: { stringValue } }));

	it.each<[string, unknown]>([
		["a span", { name: "chat", attributes }],
		["lines of spans", [{ attributes: {} }, { attributes }]],
		["a list of spans", { spans: [{ attributes }] }],
		["an export", { resourceSpans: [{ scopeSpans: [{ spans: [{ attributes: pairs }] }] }] }],
	])("spans of OpenTelemetry are refused with the way to their messages: %s", (_, document) => {
		expect(() => readConversation(document)).toThrow(/got spans of OpenTelemetry.* jq -cs /);
	});
});
