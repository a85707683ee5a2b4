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

const llamaIndex = [
	{ role: "user", content: "Go." },
	{ role: "assistant", content: "", options: { toolCall: [{ id: "c", name: "read", input: {} }] } },
	{ role: "user", content: text, options: { toolResult: { id: "c", result: text, isError: false } } },
];

const agentFramework = [
	{ role: "user", contents: [{ $type: "text", text: "Go." }] },
	{ role: "assistant", contents: [{ $type: "functionCall", callId: "c", name: "read", arguments: {} }] },
	{ role: "tool", contents: [{ $type: "functionResult", callId: "c", result: text }] },
];

const agentFrameworkOfPython = [
	{ type: "chat_message", role: "assistant", contents: [{ type: "function_call", call_id: "c", name: "read" }] },
	{ type: "chat_message", role: "tool", contents: [{ type: "function_result", call_id: "c", result: text }] },
];

const kimiCode = [
	{ type: "metadata", protocol_version: "1.4", created_at: 1 },
	{
		type: "context.append_message",
		message: { role: "user", content: [{ type: "text", text: "Go." }], toolCalls: [] },
	},
	{ type: "context.append_loop_event", event: { type: "tool.result", toolCallId: "c", result: { output: text } } },
];

const antigravity = [
	{ step_index: 0, source: "USER_EXPLICIT", type: "USER_INPUT", status: "DONE", content: "Go." },
	{ step_index: 1, source: "MODEL", type: "PLANNER_RESPONSE", tool_calls: [{ name: "view_file", args: {} }] },
	{ step_index: 2, source: "MODEL", type: "VIEW_FILE", status: "DONE", content: text },
];

const genkit = [
	{ role: "user", content: [{ text: "Go." }] },
	{ role: "model", content: [{ toolRequest: { name: "read", ref: "c", input: {} } }] },
	{ role: "tool", content: [{ toolResponse: { name: "read", ref: "c", output: text } }] },
];

describe("shapes that resemble a format", () => {
	it.each<[string, readonly unknown[]]>([
		["a compacted session of Factory Droid", [...droid, { type: "compaction_state", id: "k", summaryText: "So far." }]],
		["a stream of Factory Droid", [{ type: "tool_call", id: "c", toolName: "Execute", parameters: { command: "ls" } }]],
		["messages of LlamaIndex", llamaIndex],
		["messages of Microsoft's Agent Framework", agentFramework],
		["messages of Microsoft's Agent Framework", agentFrameworkOfPython],
		["a wire file of Kimi Code", kimiCode],
		["a session of Antigravity CLI", antigravity],
		["messages of Genkit", genkit],
		[
			"results of Inngest AgentKit",
			["a", "b"].map((agentName) => ({ agentName, output: [], toolCalls: [{ role: "tool_result", content: text }] })),
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
});
