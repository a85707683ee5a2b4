import { describe, expect, it } from "vitest";
import { readConversation } from "../../src/formats/detect.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";

interface Session {
	readonly format: string;
	/** One tool turn of the session. */
	readonly turn: (id: string) => readonly unknown[];
	readonly start: readonly unknown[];
	/** What the program records when it compacts all before. */
	readonly compaction: readonly unknown[];
}

/** A record of Claude Code with the uuid of the one before it. */
const claude = (uuid: string, parentUuid: string | null, role: string, content: unknown, more = {}) => ({
	type: role,
	uuid,
	parentUuid,
	sessionId: "s",
	message: { role, content },
	...more,
});
const recordBefore: Readonly<Record<string, string>> = { a: "u0", b: "r-a", c: "r-b" };

const codexItem = (payload: unknown) => ({ timestamp: "t", type: "response_item", payload });
const pi = (message: unknown) => ({ type: "message", timestamp: "t", message });
const copilot = (type: string, data: unknown) => ({ type, data, id: `${type}-${JSON.stringify(data).length}` });
const opencodeTool = (id: string) => ({
	type: "tool",
	callID: id,
	tool: "bash",
	state: { status: "completed", input: {}, output: outputOf(id), title: "", metadata: {}, time: { start: 1, end: 2 } },
});

const sessions: readonly Session[] = [
	{
		format: "claude-code",
		start: [claude("u0", null, "user", "Go.")],
		turn: (id) => [
			claude(`a-${id}`, recordBefore[id] ?? null, "assistant", [{ type: "tool_use", id, name: "Bash", input: {} }]),
			claude(`r-${id}`, `a-${id}`, "user", [{ type: "tool_result", tool_use_id: id, content: outputOf(id) }]),
		],
		compaction: [
			{ type: "system", subtype: "compact_boundary", uuid: "b", parentUuid: null, logicalParentUuid: "r-c" },
			claude("s", "b", "user", "So far: a listing.", { isCompactSummary: true }),
		],
	},
	{
		format: "codex-rollout",
		start: [
			{ timestamp: "t", type: "session_meta", payload: { id: "s", instructions: "Be careful." } },
			codexItem({ type: "message", role: "user", content: [{ type: "input_text", text: "Go." }] }),
		],
		turn: (id) => [
			codexItem({ type: "function_call", name: "exec", arguments: "{}", call_id: id }),
			codexItem({ type: "function_call_output", call_id: id, output: outputOf(id) }),
		],
		compaction: [
			{
				timestamp: "t",
				type: "compacted",
				payload: {
					message: "",
					replacement_history: [
						{ type: "message", role: "user", content: [{ type: "input_text", text: "So far: a listing." }] },
					],
				},
			},
		],
	},
	{
		format: "pi",
		start: [{ type: "session", id: "s", timestamp: "t", cwd: "/" }, pi({ role: "user", content: "Go." })],
		turn: (id) => [
			pi({ role: "assistant", content: [{ type: "toolCall", id, name: "bash", arguments: {} }] }),
			pi({ role: "toolResult", toolCallId: id, toolName: "bash", content: [{ type: "text", text: outputOf(id) }] }),
		],
		compaction: [{ type: "compaction", timestamp: "t", summary: "So far: a listing.", firstKeptEntryIndex: 999 }],
	},
	{
		format: "opencode",
		start: [{ info: { id: "msg_0", role: "user" }, parts: [{ type: "text", text: "Go." }] }],
		turn: (id) => [{ info: { id: `msg_1${id}`, role: "assistant", parentID: "msg_0" }, parts: [opencodeTool(id)] }],
		compaction: [
			{ info: { id: "msg_4", role: "user" }, parts: [{ type: "compaction", auto: true }] },
			{
				info: { id: "msg_5", role: "assistant", parentID: "msg_4", summary: true, finish: "stop" },
				parts: [{ type: "text", text: "So far: a listing." }],
			},
		],
	},
	{
		format: "copilot-cli",
		start: [copilot("session.start", {}), copilot("user.message", { content: "Go." })],
		turn: (id) => [
			copilot("assistant.message", { content: "", toolRequests: [{ toolCallId: id, name: "bash", arguments: {} }] }),
			copilot("tool.execution_complete", { toolCallId: id, success: true, result: { content: outputOf(id) } }),
		],
		compaction: [
			copilot("session.compaction_start", {}),
			copilot("session.compaction_complete", { success: true, summaryContent: "So far: a listing." }),
		],
	},
];

const policy = policyOf({ mask: { window_turns: 1 } });

describe.each(sessions)("a compaction in $format", ({ format, start, turn, compaction }) => {
	const before = [...start, ...["a", "b", "c"].flatMap(turn)];
	const compacted = [...before, ...compaction];

	it("replaces the messages before it, and they cost nothing", async () => {
		const { transcript } = readConversation(compacted);
		expect(transcript.format).toBe(format);
		expect(transcript.messages.filter(({ sent }) => sent === false).length).toBeGreaterThanOrEqual(3);
		const was = await maskConversation({ conversation: before, policy });
		const is = await maskConversation({ conversation: compacted, policy });
		expect(is.report.tokens.before).toBeLessThan(was.report.tokens.before / 2);
	});

	it("keeps the results before it masked, without counting them in any total", async () => {
		const was = await maskConversation({ conversation: before, policy });
		const is = await maskConversation({ conversation: compacted, policy });
		expect(is.error).toBeUndefined();
		expect(was.edits).toHaveLength(2);
		expect(is.edits.map(({ path }) => path)).toEqual(expect.arrayContaining(was.edits.map(({ path }) => path)));
		expect(is.report.tokens.after).toBe(is.report.tokens.before);
		expect((await maskConversation({ conversation: is.conversation, policy })).edits).toEqual([]);
	});

	it("is never undone by dropping, and keeps the replaced messages", async () => {
		const tight = policyOf({ guard: { reserve_tokens: 0, ladder: ["drop"] } });
		const outcome = await guardConversation({ conversation: compacted, policy: tight, contextWindow: 1 });
		expect(outcome.error).toBeUndefined();
		const unsent = readConversation(compacted).transcript.messages.flatMap(({ sent }, index) =>
			sent === false ? [index] : [],
		);
		expect(outcome.edits.filter(({ message }) => message !== undefined && unsent.includes(message))).toEqual([]);
	});
});
