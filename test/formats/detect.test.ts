import { describe, expect, it } from "vitest";
import { formats, readConversation, requestBody } from "../../src/formats/detect.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { deepFreeze } from "../support/deep-freeze.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";
import { toolTurn, writeMessages } from "../support/script.ts";

function messageOfError(document: unknown): string {
	try {
		readConversation(document);
	} catch (error) {
		expect(error).toMatchObject({ code: "not_a_conversation" });
		return (error as Error).message;
	}
	throw new Error("Expected an error.");
}

describe("readConversation: input that is not a conversation", () => {
	it.each([
		["a string", "hello", "a string"],
		["null", null, "null"],
		["a number", 7, "a number"],
		["nothing", undefined, "nothing"],
		["an object without messages", { model: "m" }, "an object without `messages`"],
		["a message", { role: "user", content: "Hi" }, "one message; put it into a list"],
	])("%s", (_, document, kind) => {
		expect(messageOfError(document)).toBe(
			`Expected a list of messages, or an object that holds one as \`messages\`; got ${kind}.`,
		);
	});

	it.each([
		[{ messages: {} }, "an object without `messages`"],
		[{ messages: "x" }, "a string"],
		[{ messages: null }, "null"],
	])("%j", (document, kind) => {
		expect(messageOfError(document)).toBe(`Expected \`messages\` to be a list; got ${kind}.`);
	});

	it("a prompt as plain text", () => {
		expect(messageOfError({ model: "m", input: "Hi" })).toBe("Expected `input` to be a list; got a string.");
	});

	it.each([
		["bodies", [{ messages: [{ role: "user", content: "Hi" }] }, { messages: [{ role: "user", content: "Ho" }] }]],
		["lists", [[{ role: "user", content: "Hi" }], [{ role: "user", content: "Ho" }]]],
		[
			"records of runs",
			[
				{ id: 1, history: [{ action: "message" }] },
				{ id: 2, history: [{ action: "message" }] },
			],
		],
	])("several conversations as %s are not read as one", (_, document) => {
		const message = "Found 2 conversations, from /0 to /1. Pass them one at a time, each in a file of its own.";
		expect(messageOfError(document)).toBe(message);
	});

	it.each(["conversations", "chats", "sessions", "data"])("several in the `%s` of an export", (key) => {
		const chat = { title: "secret", messages: [{ role: "user", content: "Hi" }] };
		const message = messageOfError({ version: 1, [key]: [chat, chat, chat] });
		expect(message).toBe(
			`Found 3 conversations, from /${key}/0 to /${key}/2. Pass them one at a time, each in a file of its own, for example: jq '.${key}[0]' FILE > one.json.`,
		);
	});

	it("several under names that people chose: no name goes into a command", () => {
		const chat = [{ role: "user", content: "Hi" }];
		expect(messageOfError({ sessions: { "'; rm x": chat, [`b${"c".repeat(200)}`]: chat } })).toMatch(
			/^Found 2 conversations, from \/sessions\/'; rm x to \/sessions\/bc{89}\. Pass them one at a time, each in a file of its own\.$/,
		);
	});

	it("reads the only conversation of an export", () => {
		const chat = { model: "gpt-4o", messages: writeMessages("openai-chat", toolTurn("a", "x")) };
		const document = { version: 1, conversations: [chat] };
		const { located, format } = readConversation(document);
		expect(requestBody(document)).toBe(chat);
		expect([format.name, located.base, located.document]).toEqual([
			"openai-chat",
			["conversations", 0, "messages"],
			chat,
		]);
	});

	it("two lists that could both be the conversation", () => {
		const messages = [{ role: "user", content: "Hi" }];
		expect(messageOfError({ request: { messages }, response: { messages } })).toMatch(
			/^Found 2 conversations, from \/request to \/response\. Pass them one at a time/,
		);
		expect(messageOfError({ before: messages, after: messages })).toMatch(/^Found 2 conversations, from \/before to/);
	});

	it("ignores an inherited `messages`", () => {
		expect(() => readConversation(Object.create({ messages: [] }))).toThrow();
	});
});

describe("readConversation: messages that match no format", () => {
	it("names in one line the nearest format, the first message that does not fit, and the expected shape", () => {
		const message = messageOfError([
			{ role: "user", content: "Hi" },
			{ role: "model", parts: [] },
			{ speaker: "x", text: "secret" },
		]);
		expect(message).toMatch(/^The 3 messages fit no format\. The nearest is [^.\n]+\.$/);
		expect(message).toContain("message 2 (counted from 0) does not fit, expected an object with a string `role`");
	});

	it("never quotes conversation text", () => {
		expect(messageOfError([{ speaker: "secret", text: "secret" }])).not.toContain("secret");
	});

	it("a mixture of two formats matches neither", () => {
		const mixed = [
			...writeMessages("openai-chat", toolTurn("a", "x")),
			...writeMessages("anthropic-messages", toolTurn("b", "x")),
		];
		const message = messageOfError(mixed);
		expect(message).toMatch(/OpenAI.*: message 2 \(counted from 0\) does not fit/);
	});
});

describe("readConversation: messages that match several formats", () => {
	it("texts only are read as Chat Completions", () => {
		expect(readConversation([{ role: "user", content: "Hello" }]).format.name).toBe("openai-chat");
	});

	it("an empty list is a conversation without messages", () => {
		expect(readConversation([]).transcript.messages).toEqual([]);
		expect(readConversation({ messages: [] }).transcript.messages).toEqual([]);
	});
});

describe("readConversation: bodies in other objects", () => {
	const messages = writeMessages("openai-chat", [...toolTurn("a", outputOf("a")), ...toolTurn("b", "ok")]);
	const body = { model: "gpt-4o", tools: [{ type: "function", function: { name: "ls" } }], messages };

	it.each([
		["a batch", { custom_id: "1", method: "POST", body }, "/body/messages"],
		["a log", { request: body, response: { choices: [] } }, "/request/messages"],
		["a JSON-RPC call", { jsonrpc: "2.0", id: 1, method: "m", params: body }, "/params/messages"],
		["a trajectory", { trajectory: [{ action: "ls" }], history: messages }, "/history"],
	])("reads %s, masks in it and keeps the rest", async (_, document, place) => {
		const { transcript } = readConversation(document);
		expect(transcript.format).toBe("openai-chat");
		expect(transcript.surroundings).toHaveLength(place === "/history" ? 0 : 1);
		const policy = policyOf({ mask: { window_turns: 1 } });
		const { conversation, edits, report } = await maskConversation({ conversation: document, policy });
		expect(report.masked_tool_results).toBe(1);
		expect(edits.map(({ path }) => path)).toEqual([`${place}/1/content`]);
		expect({ ...(conversation as object), [place.split("/")[1] as string]: undefined }).toEqual({
			...document,
			[place.split("/")[1] as string]: undefined,
		});
	});

	it("drops from it, and counts with its model", async () => {
		const document = { request: body };
		const policy = policyOf({ guard: { ladder: ["drop"], reserve_tokens: 0 } });
		const outcome = await guardConversation({ conversation: document, policy, contextWindow: 100 });
		expect(outcome.report).toMatchObject({ fits: true, dropped_messages: 2 });
		expect(outcome.conversation).toEqual({ request: { ...body, messages: messages.slice(2) } });
		const whole = await guardConversation({ conversation: document, policy });
		expect(whole.report.context_window).toBe(128_000);
	});

	it("an `input` in a body belongs to the Responses API", () => {
		expect(readConversation({ body: { input: [{ role: "user", content: "Hi" }] } }).format.name).toBe(
			"openai-responses",
		);
	});
});

it("of two formats of an API, the one with items of both kinds in it is not taken for a list with unknown items", () => {
	const input = [
		{ type: "function_call", call_id: "a", name: "ls", arguments: "{}" },
		{ type: "function_call_output", call_id: "a", output: "text" },
		{ role: "assistant", tool_calls: [{ id: "b", type: "function", function: { name: "ls", arguments: "{}" } }] },
		{ role: "tool", tool_call_id: "b", content: "text" },
	];
	const names = ["openai-responses", "openai-chat"];
	expect(() => readConversation({ input }, "auto", { names })).toThrow(/fits? no format/);
});

const messages = [
	{ role: "user", content: "Go." },
	{ role: "assistant", content: "", tool_calls: [{ id: "c", function: "bash", arguments: {}, type: "function" }] },
	{ role: "tool", content: outputOf("ls"), tool_call_id: "c", function: "bash" },
];
const sample = (id: number) => ({ id, epoch: 1, messages });

describe("a log with a list of steps next to its conversation", () => {
	it.each([
		["plan", { steps: [{ solver: "a" }], config: {} }],
		[
			"run",
			{
				steps: [
					{ id: 1, took: 3 },
					{ id: 2, took: 4 },
				],
			},
		],
		["stats", { usage: { items: [{ tokens: 3 }] } }],
	])("is read as that conversation: %s", (key, value) => {
		const { format, located } = readConversation({ version: 2, [key]: value, samples: [sample(1)] });
		expect([format.name, located.base]).toEqual(["inspect", ["samples", 0, "messages"]]);
	});

	it("names the conversations if there are several", () => {
		const log = { plan: { steps: [{ solver: "a" }] }, samples: [sample(1), sample(2)] };
		expect(() => readConversation(log)).toThrow(/Found 2 conversations/);
	});

	it("reads a list of records deep in a document as before", () => {
		const query = [{ role: "user", content: "Go." }];
		const step = { action: "ls", observation: outputOf("ls"), response: "I look.", thought: "", query };
		expect(readConversation({ run: { trajectory: [step, step] } }).format.name).toBe("swe-agent");
	});
});

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
