import { describe, expect, it } from "vitest";
import { formats, readConversation } from "../../src/formats/detect.ts";
import { deepFreeze } from "../support/deep-freeze.ts";

const text = "So far: a listing.";
const write = (name: string, role: "user" | "assistant", instead?: unknown) =>
	formats.find((format) => format.name === name)?.write.message(deepFreeze({ role, text, instead }));

const named = { role: "user", content: text };

describe("a written message for an API", () => {
	it.each([
		["openai-chat", named, { role: "assistant", content: text }],
		["anthropic-messages", named, { role: "assistant", content: text }],
		["vercel-model", named, { role: "assistant", content: text }],
		["inspect", named, { role: "assistant", content: text }],
		["tau2", { ...named, tool_calls: null }, { role: "assistant", content: text, tool_calls: null }],
		["gemini", { role: "user", parts: [{ text }] }, { role: "model", parts: [{ text }] }],
		["bedrock-converse", { role: "user", content: [{ text }] }, { role: "assistant", content: [{ text }] }],
		[
			"mcp-sampling",
			{ role: "user", content: { type: "text", text } },
			{ role: "assistant", content: { type: "text", text } },
		],
		[
			"openai-responses",
			{ type: "message", role: "user", content: [{ type: "input_text", text }] },
			{ type: "message", role: "assistant", content: text },
		],
		[
			"vercel-ui",
			{ id: expect.stringMatching(/^[-0-9a-f]{36}$/), role: "user", parts: [{ type: "text", text }] },
			{ id: expect.stringMatching(/^[-0-9a-f]{36}$/), role: "assistant", parts: [{ type: "text", text }] },
		],
	])("%s", (name, user, assistant) => {
		expect(write(name, "user")).toStrictEqual(user);
		expect(write(name, "assistant")).toStrictEqual(assistant);
	});

	it("keeps the name and position of a message, if it has them", () => {
		expect(write("inspect", "user", { id: "m1", role: "assistant", content: "Hi", source: "generate" })).toStrictEqual({
			id: "m1",
			...named,
		});
		const turn = { turn_idx: 3, timestamp: "2026-01-01T00:00:00" };
		const simulated = { role: "assistant", content: "Hi", ...turn, cost: 1, usage: {}, raw_data: {} };
		expect(write("tau2", "user", simulated)).toStrictEqual({ ...named, tool_calls: null, ...turn });
	});

	it("has its own id as a Vercel UI message, and the text as `content` when other v4 messages have it", () => {
		const parts = [{ type: "text", text }];
		const [user, assistant] = [write("vercel-ui", "user"), write("vercel-ui", "assistant")] as { id: string }[];
		expect(user?.id).not.toBe(assistant?.id);
		const before = { id: "m1", role: "assistant", parts: [{ type: "step-start" }], metadata: { model: "x" } };
		expect(write("vercel-ui", "user", before)).toStrictEqual({ id: "m1", role: "user", parts });
		const old = { id: "m1", createdAt: "2025-01-01", role: "user", content: "Hi", toolInvocations: [] };
		const { createdAt } = old;
		expect(write("vercel-ui", "user", old)).toStrictEqual({ id: "m1", createdAt, content: text, role: "user", parts });
	});
});

describe("a written record of a session", () => {
	const session = { isSidechain: false, userType: "external", cwd: "/", sessionId: "s", version: "2.1.0", slug: "x" };
	const answered = {
		parentUuid: "u0",
		...session,
		type: "assistant",
		requestId: "req",
		message: { id: "msg_1", role: "assistant", model: "m", content: [], usage: { input_tokens: 9 } },
		uuid: "u1",
		timestamp: "t",
	};

	it("of Claude Code is a prompt, linked like the original record", () => {
		const prompt = { type: "user", message: { role: "user", content: text }, uuid: "u1", timestamp: "t" };
		expect(write("claude-code", "user", answered)).toStrictEqual({ parentUuid: "u0", ...session, ...prompt });
		const own = { toolUseResult: {}, sourceToolAssistantUUID: "u0", isMeta: true, isVisibleInTranscriptOnly: true };
		const result = { ...answered, type: "user", ...own };
		expect(write("claude-code", "user", result)).toStrictEqual({ parentUuid: "u0", ...session, ...prompt });
		expect(write("claude-code", "assistant", answered)).toMatchObject({
			uuid: "u1",
			message: { id: "u1", model: "<synthetic>", content: [{ type: "text", text }], usage: { input_tokens: 0 } },
		});
	});

	it("of Claude Code starts a conversation only if the replaced record did", () => {
		const start = {
			type: "user",
			uuid: "u0",
			parentUuid: null,
			sessionId: "s",
			message: { role: "user", content: "Go." },
		};
		const later = { ...start, uuid: "u2", parentUuid: "u1" };
		const unsent = (records: readonly unknown[]) =>
			readConversation(records).transcript.messages.filter(({ sent }) => sent === false).length;
		expect(unsent([start, write("claude-code", "user", answered), later])).toBe(0);
		const compacted = { ...answered, type: "user", isVisibleInTranscriptOnly: true, isCompactSummary: true };
		const records = [start, write("claude-code", "user", compacted), later];
		expect(unsent([start, compacted, later])).toBe(1);
		expect(unsent(records)).toBe(1);
		expect(records[1]).toMatchObject({ isCompactSummary: true, isVisibleInTranscriptOnly: true });
	});

	it("of Codex is an item for the model, wrapped in a record when the others are", () => {
		const item = { type: "message", role: "user", content: [{ type: "input_text", text }] };
		const call = { type: "function_call", name: "exec", arguments: "{}", call_id: "c" };
		const record = { timestamp: "t", type: "response_item", payload: call };
		expect(write("codex-rollout", "user", record)).toStrictEqual({ ...record, payload: item });
		expect(write("codex-rollout", "user", { ...record, type: "event_msg" })).toStrictEqual({
			...record,
			payload: item,
		});
		expect(write("codex-rollout", "user", call)).toStrictEqual(item);
		expect(write("codex-rollout", "assistant", call)).toMatchObject({ content: [{ type: "output_text", text }] });
	});

	it("of pi is a message, for every kind of replaced record", () => {
		const ties = { id: "e1", parentId: "e0", timestamp: "2026-01-01T00:00:00.000Z" };
		const content = [{ type: "text", text }];
		const expected = { type: "message", ...ties, message: { role: "user", content, timestamp: 5 } };
		const result = { role: "toolResult", toolCallId: "c", toolName: "ls", content: [], details: {}, timestamp: 5 };
		expect(write("pi", "user", { type: "message", ...ties, message: result })).toStrictEqual(expected);
		const custom = { type: "custom_message", customType: "x", content: "Hi", display: true, ...ties };
		const timestamp = Date.UTC(2026, 0, 1);
		expect(write("pi", "user", custom)).toStrictEqual({ ...expected, message: { role: "user", content, timestamp } });
		const answer = { role: "assistant", api: "a", provider: "p", model: "m", usage: { input: 9 }, content: [] };
		expect(write("pi", "assistant", { type: "message", ...ties, message: answer })).toMatchObject({
			message: { api: "a", provider: "p", model: "m", usage: { input: 0, cost: { total: 0 } }, stopReason: "stop" },
		});
	});

	it("of opencode names the agent and the model that answered", () => {
		const tied = { id: "msg_1", sessionID: "ses_1" };
		const parts = [{ id: "prt_1", sessionID: "ses_1", messageID: "msg_1", type: "text", text }];
		const ran = { modelID: "m", providerID: "p", mode: "build", agent: "build", path: { cwd: "/", root: "/" } };
		const answer = {
			info: {
				...tied,
				role: "assistant",
				parentID: "msg_0",
				...ran,
				time: { created: 1, completed: 2 },
				cost: 1,
				error: {},
			},
			parts: [{ id: "prt_1", type: "step-start" }],
		};
		const model = { modelID: "m", providerID: "p" };
		const info = { ...tied, role: "user", time: { created: 1 }, agent: "build", model };
		expect(write("opencode", "user", answer)).toStrictEqual({ info, parts });
		const set = { system: "Be brief.", tools: { task: false } };
		const prompt = { info: { ...info, ...set, summary: { diffs: [] } }, parts: [{ id: "prt_1", type: "file" }] };
		expect(write("opencode", "user", prompt)).toStrictEqual({ info: { ...info, ...set }, parts });
		expect(write("opencode", "assistant", prompt)).toMatchObject({ info: { ...model, mode: "build", cost: 0 }, parts });
	});

	it("of Copilot is a prompt or an answer of the same interaction", () => {
		const tied = { id: "e1", timestamp: "t", parentId: "e0" };
		const data = { messageId: "m", model: "x", content: "Hi", apiCallId: "c", interactionId: "i" };
		expect(write("copilot-cli", "user", { type: "assistant.message", data, ...tied, agentId: "a" })).toStrictEqual({
			type: "user.message",
			data: { content: text, transformedContent: text, attachments: [], interactionId: "i" },
			...tied,
		});
		expect(write("copilot-cli", "assistant", { type: "user.message", data: {}, ...tied })).toStrictEqual({
			type: "assistant.message",
			data: { messageId: "e1", content: text, toolRequests: [] },
			...tied,
		});
	});

	it("of Kimi is a message between the records of Kimi", () => {
		expect(write("kimi-context", "user", { role: "tool", tool_call_id: "c", content: "x" })).toStrictEqual(named);
	});
});
