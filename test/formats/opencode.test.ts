import { describe, expect, it } from "vitest";
import { jsonPointer, valueAt } from "../../src/engine/conversation/paths.ts";
import { locateMessages, readConversation } from "../../src/formats/detect.ts";
import { opencode } from "../../src/formats/opencode.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";

type Json = Readonly<Record<string, unknown>>;

const text = (value: string, more: Json = {}) => ({ type: "text", text: value, ...more });
const user = (id: string, ...parts: readonly Json[]) => ({ info: { id, role: "user" }, parts });
const assistant = (id: string, ...parts: readonly Json[]) => ({
	info: { id, role: "assistant", parentID: "msg_0", finish: "tool-calls" },
	parts: [{ type: "step-start" }, ...parts, { type: "step-finish", cost: 0 }],
});
const tool = (callID: string, state: Json) => ({
	type: "tool",
	callID,
	tool: "bash",
	state: { input: { command: "ls" }, ...state },
});
const done = (callID: string, output: unknown = outputOf(callID), more: Json = {}) =>
	tool(callID, { status: "completed", output, title: "List", time: { start: 1, end: 2 }, ...more });
/** A transcript without what is no longer sent. */
const read = (...records: readonly unknown[]) => {
	const { transcript } = readConversation(records);
	return { ...transcript, messages: transcript.messages.filter(({ sent }) => sent !== false) };
};
const resultOf = (part: Json) => read(assistant("msg_1", part)).messages[0]?.results[0];
const masking = policyOf({ mask: { window_turns: 1 } });
const mask = (...conversation: readonly unknown[]) => maskConversation({ conversation, policy: masking });

describe("opencode: format detection", () => {
	it.each([
		["a bare list", (records: unknown) => records, ""],
		[
			"`opencode export`",
			(records: unknown) => ({ info: { id: "ses_1", title: "x" }, messages: records }),
			"/messages",
		],
	])("%s", async (_, wrap, base) => {
		const conversation = wrap([
			user("msg_0", text("Go.")),
			assistant("msg_1", done("a")),
			assistant("msg_2", done("b")),
		]);
		expect(readConversation(conversation).format).toBe(opencode);
		const { edits } = await maskConversation({ conversation, policy: masking });
		expect(edits.map(({ path }) => path)).toEqual([`${base}/1/parts/1/state/output`]);
	});

	it("texts only match, since no other format wraps them this way", () => {
		expect(opencode.probe(locateMessages([user("msg_0", text("Hello"))]))).toEqual({ fit: "certain" });
	});

	it.each([
		[[], 0],
		[[user("msg_0", text("Hi")), { role: "user", content: "Hi" }], 1],
		[[{ info: { role: "user" } }], 0],
		[[{ info: {}, parts: [] }], 0],
		[[{ info: { role: "user" }, parts: [{ text: "x" }] }], 0],
		[[{ id: "1", role: "user", parts: [{ type: "text", text: "x" }] }], 0],
	])("does not match %j", (records, message) => {
		expect(opencode.probe(locateMessages(records))).toMatchObject({ fit: "none", message });
	});
});

describe("opencode: content sent to the model", () => {
	it("includes texts, synthetic ones too, but no ignored or display-only ones", () => {
		const [asked, answered] = read(
			user("msg_0", text("Look."), text("Made up.", { synthetic: true }), text("Not sent.", { ignored: true })),
			assistant("msg_1", { type: "reasoning", text: "Hm." }, text("I see."), {
				type: "patch",
				hash: "h",
				files: ["a"],
			}),
		).messages;
		expect(asked).toMatchObject({ role: "user", counted: ["Look.", "Made up."] });
		expect(answered).toMatchObject({ role: "assistant", counted: ["Hm.", "I see."] });
	});

	it("excludes a user message without text for the model or without parts", () => {
		expect(read(user("msg_0", text("x", { ignored: true })), user("msg_1")).messages).toEqual([]);
	});

	it("excludes failed answers, unless they had begun to speak", () => {
		const failed = (name: string, ...parts: readonly Json[]) => {
			const record = assistant("msg_1");
			return { info: { ...record.info, error: { name, data: {} } }, parts: [{ type: "step-start" }, ...parts] };
		};
		const spoken = text("I was about to");
		expect(read(failed("APIError", spoken)).messages).toHaveLength(0);
		expect(read(failed("MessageAbortedError", { type: "reasoning", text: "Hm." })).messages).toHaveLength(0);
		expect(read(failed("MessageAbortedError", spoken)).messages).toHaveLength(1);
	});

	it("includes the substitutes for parts of a user message", () => {
		const parts = [
			{ type: "subtask", prompt: "Long.", agent: "x" },
			{ type: "agent", name: "x" },
		];
		expect(read(user("msg_0", ...parts)).messages[0]?.counted).toEqual(["The following tool was executed by the user"]);
	});

	it("includes files of a user message, except those with their text next to them", () => {
		const file = (mime: string) => ({ type: "file", mime, url: `data:${mime};base64,AAAA` });
		expect(read(user("msg_0", file("image/png"))).messages[0]?.mediaTokens).toBeGreaterThan(500);
		expect(read(user("msg_0", text("x"), file("text/plain"))).messages[0]?.mediaTokens).toBe(0);
	});

	it("counts the system prompt in the newest user message", () => {
		const first = user("msg_0", text("a"));
		const last = user("msg_1", text("b"));
		const withSystem = (record: typeof first, system: string) => ({ ...record, info: { ...record.info, system } });
		expect(read(withSystem(first, "Old."), withSystem(last, "New.")).surroundings).toEqual(["New."]);
	});
});

describe("opencode: tools", () => {
	it("a part is a call and its result, and parallel ones are one turn", async () => {
		const { messages } = read(assistant("msg_1", done("a"), done("b")));
		expect(messages).toHaveLength(1);
		expect(messages[0]?.calls).toEqual([
			{ id: "a", name: "bash" },
			{ id: "b", name: "bash" },
		]);
		expect(messages[0]?.results.map(({ callId, isError }) => [callId, isError])).toEqual([
			["a", false],
			["b", false],
		]);
		const both = assistant("msg_1", done("a"), done("b"));
		expect((await mask(both)).edits).toEqual([]);
		expect((await mask(both, assistant("msg_2", done("c")))).edits).toHaveLength(2);
	});

	it("masks the display copies with the output, and nothing else", async () => {
		const metadata = { output: outputOf("a"), exit: 0, description: outputOf("described"), truncated: false };
		const outcome = await mask(
			assistant("msg_1", done("a", outputOf("a"), { metadata })),
			assistant("msg_2", done("b")),
		);
		expect(outcome.edits.map(({ path }) => path)).toEqual([
			"/0/parts/1/state/output",
			"/0/parts/1/state/metadata/output",
		]);
		expect(outcome.report.masked_tool_results).toBe(1);
		expect(valueAt(outcome.conversation, [0, "parts", 1, "state", "metadata", "description"])).toBe(
			metadata.description,
		);
	});

	it("a failed call is an error with the error's text", () => {
		const result = resultOf(tool("a", { status: "error", error: "No such file", time: { start: 1, end: 2 } }));
		expect(result).toMatchObject({ isError: true, texts: [{ text: "No such file" }] });
		expect(jsonPointer(result?.whole?.path ?? [])).toBe("/0/parts/1/state/error");
	});

	it("an aborted call sends its partial output to the model", () => {
		const metadata = { interrupted: true, output: "half" };
		const result = resultOf(tool("a", { status: "error", error: "Tool execution aborted", metadata }));
		expect(result).toMatchObject({ isError: true, texts: [{ text: "half" }], copies: [] });
		expect(jsonPointer(result?.whole?.path ?? [])).toBe("/0/parts/1/state/metadata/output");
	});

	it.each(["pending", "running"])("a call that is %s has no result", (status) => {
		const [message] = read(assistant("msg_1", tool("a", { status }))).messages;
		expect(message).toMatchObject({ calls: [{ id: "a" }], results: [] });
		expect(message?.counted).toContain("[Tool execution was interrupted]");
	});

	it("an output that opencode cleared is counted as sent, and never edited", async () => {
		const cleared = assistant("msg_1", done("a", outputOf("a"), { time: { start: 1, end: 2, compacted: 3 } }));
		const [message] = read(cleared).messages;
		expect(message?.counted).toEqual(["bash", '{"command":"ls"}', "[Old tool result content cleared]"]);
		const outcome = await mask(cleared, assistant("msg_2", done("b")));
		expect(outcome.edits).toEqual([]);
	});

	it.each([[null], [undefined], [7], "no object"])("a part with state %j is a call without arguments", (state) => {
		const part = { type: "tool", callID: "a", tool: "bash", state };
		expect(read(assistant("msg_1", part)).messages[0]?.calls).toEqual([{ id: "a", name: "bash" }]);
	});
});

describe("opencode: attachments of results", () => {
	const image = { id: "prt_1", type: "file", mime: "image/png", url: "data:image/png;base64,AAAA", filename: "a.png" };
	const withImage = assistant("msg_1", done("a", outputOf("a"), { attachments: [image] }));

	it("prevent masking of the complete result, and are counted", async () => {
		expect(read(withImage).messages[0]?.mediaTokens).toBeGreaterThan(500);
		expect((await mask(withImage, assistant("msg_2", done("b")))).edits).toEqual([]);
	});

	it("become a plain text file when the policy masks media, once", async () => {
		const policy = policyOf({ mask: { window_turns: 1 }, media: "mask" });
		const conversation = [withImage, assistant("msg_2", done("b"))];
		const outcome = await maskConversation({ conversation, policy });
		expect(outcome.error).toBeUndefined();
		const place = [0, "parts", 1, "state", "attachments", 0];
		const masked = valueAt(outcome.conversation, place) as typeof image;
		expect(masked).toMatchObject({
			...image,
			mime: "text/plain",
			url: expect.stringMatching(/^data:text\/plain;base64,/),
		});
		const [, data = ""] = masked.url.split(",");
		const placeholder = Buffer.from(data, "base64").toString();
		expect(placeholder).toContain("image/png");
		const after = read(...(outcome.conversation as unknown[]));
		expect(after.messages[0]?.mediaTokens).toBe(0);
		expect(after.messages[0]?.counted).toContain(placeholder);
		expect((await maskConversation({ conversation: outcome.conversation, policy })).edits).toEqual([]);
	});
});

describe("opencode: reasoning", () => {
	const blockOf = (metadata: unknown) =>
		read(assistant("msg_1", { type: "reasoning", text: "Hm.", metadata })).messages[0]?.thinking[0];

	it.each([
		[{ anthropic: { signature: "c2ln" } }, true, undefined],
		[{ openai: { itemId: "rs_1", reasoningEncryptedContent: "ZW5j" } }, false, true],
		[{ anthropic: { signature: "" } }, false, undefined],
		[{}, false, undefined],
		[undefined, false, undefined],
	])("with %j", (metadata, bound, fixed) => {
		expect(blockOf(metadata)).toMatchObject({ text: "Hm.", bound });
		expect(blockOf(metadata)?.fixed).toBe(fixed);
	});

	it("a message with only reasoning stays a message without it", async () => {
		const metadata = { anthropic: { signature: "c2ln" } };
		const policy = policyOf({ mask: { window_turns: 1 }, thinking: "strip_after_edit" });
		const conversation = [
			assistant("msg_1", done("a")),
			assistant("msg_2", { type: "reasoning", text: "Hm.", metadata }),
			assistant("msg_3", done("b")),
		];
		const outcome = await maskConversation({ conversation, policy });
		expect(outcome.error).toBeUndefined();
		expect(valueAt(outcome.conversation, [1, "parts", "length"])).toBe(2);
	});
});

describe("opencode: several steps in one record", () => {
	const steps = assistant("msg_1", done("a"), { type: "step-start" }, done("b"), { type: "step-start" }, done("c"));

	it("are separate turns", async () => {
		const { messages } = read(steps);
		expect(messages.map(({ calls }) => calls.map(({ id }) => id))).toEqual([["a"], ["b"], ["c"]]);
		expect(messages.map(({ paths }) => paths.length)).toEqual([2, 2, 3]);
		expect((await mask(steps)).edits.map(({ path }) => path)).toEqual([
			"/0/parts/1/state/output",
			"/0/parts/3/state/output",
		]);
	});

	it("are dropped one by one; a record without parts is not a message", async () => {
		const policy = policyOf({ preset: "context-guard", guard: { reserve_tokens: 0 } });
		const conversation = [steps, user("msg_2", text("Well?"))];
		const some = await guardConversation({ conversation, policy, contextWindow: 800 });
		expect(some.error).toBeUndefined();
		expect(valueAt(some.conversation, [0, "parts", "length"])).toBe(3);
		const all = await guardConversation({ conversation, policy, contextWindow: 50 });
		expect(all.error).toBeUndefined();
		expect(all.conversation).toEqual([{ ...steps, parts: [] }, conversation[1]]);
		expect(read(...(all.conversation as unknown[])).messages).toHaveLength(1);
	});
});

describe("opencode: compaction", () => {
	const request = (more: Json = {}) => user("msg_4", { type: "compaction", auto: true, ...more });
	const summary = {
		info: { id: "msg_5", role: "assistant", parentID: "msg_4", summary: true, finish: "stop" },
		parts: [text("We listed files.")],
	};
	const before = [user("msg_0", text("Go.")), assistant("msg_1", done("a")), assistant("msg_2", done("b"))];
	const after = [user("msg_6", text("Go on.")), assistant("msg_7", done("c")), assistant("msg_8", done("d"))];
	const session = (more?: Json) => [...before, request(more), summary, ...after];

	it("messages before it are not sent; its summary is kept like a system message", () => {
		const { messages } = read(...session());
		expect(messages.map(({ role }) => role)).toEqual(["system", "system", "user", "assistant", "assistant"]);
		expect(messages.slice(0, 2).map(({ counted }) => counted)).toEqual([
			["What did we do so far?"],
			["We listed files."],
		]);
	});

	it("its kept tail is sent, even when its first message is gone", () => {
		const kept = (records: readonly unknown[]) => read(...records).messages.flatMap(({ calls }) => calls);
		const records = session({ tail_start_id: "msg_1" });
		expect(kept(records)).toHaveLength(4);
		expect(kept(records.toSpliced(1, 1))).toHaveLength(3);
		expect(kept(session({ tail_start_id: "msg_2" }))).toHaveLength(3);
	});

	it("an unfinished one changes nothing", () => {
		expect(read(...before, request()).messages).toHaveLength(4);
		const failed = { ...summary, info: { ...summary.info, error: { name: "APIError" } } };
		expect(read(...before, request(), failed, ...after).messages).toHaveLength(7);
	});

	it("guarding never restores the messages it replaced", async () => {
		for (const more of [{}, { tail_start_id: "msg_1" }]) {
			for (const contextWindow of [50, 300, 700, 1_200]) {
				const policy = policyOf({ preset: "context-guard", guard: { reserve_tokens: 0 } });
				const outcome = await guardConversation({ conversation: session(more), policy, contextWindow });
				expect(outcome.error).toBeUndefined();
				expect(outcome.conversation).toContainEqual(summary);
			}
		}
	});
});
