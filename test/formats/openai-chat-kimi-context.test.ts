import { describe, expect, it } from "vitest";
import { locateMessages, readConversation } from "../../src/formats/detect.ts";
import { kimiContext, openaiChat } from "../../src/formats/openai-chat.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";

const checkpoint = (id: number) => ({ role: "_checkpoint", id });
const usage = (count: number) => ({ role: "_usage", token_count: count });
const prompt = { role: "_system_prompt", content: "You are Kimi." };
const call = (id: string, ...content: readonly unknown[]) => ({
	role: "assistant",
	content,
	tool_calls: [{ type: "function", id, function: { name: "Shell", arguments: '{"command":"ls"}' } }],
});
const result = (id: string, ...texts: readonly string[]) => ({
	role: "tool",
	content: texts.map((text) => ({ type: "text", text })),
	tool_call_id: id,
});
const turn = (id: string) => [
	checkpoint(1),
	call(id),
	usage(100),
	result(id, "<system>Command executed successfully.</system>", outputOf(id)),
];
const session = [prompt, checkpoint(0), { role: "user", content: "Go." }, ...turn("Shell:0"), ...turn("Shell:1")];
const read = (...records: readonly unknown[]) => readConversation(records).transcript;

describe("Kimi CLI context", () => {
	it("is recognised by its own records, which are not messages", () => {
		const { format, transcript } = readConversation(session);
		expect(format).toBe(kimiContext);
		expect(transcript.messages.map(({ role }) => role)).toEqual([
			"system",
			"user",
			"assistant",
			"tool",
			"assistant",
			"tool",
		]);
		expect(transcript.messages.map(({ paths }) => paths)).toEqual([[[0]], [[2]], [[4]], [[6]], [[8]], [[10]]]);
		expect(JSON.stringify(transcript.messages.map(({ counted }) => counted))).not.toContain("token_count");
	});

	it("without such a record the messages are read as Chat Completions", () => {
		const messages = [call("a"), result("a", "x")];
		expect(readConversation(messages).format).toBe(openaiChat);
		expect(kimiContext.probe(locateMessages(messages))).toMatchObject({ fit: "none", message: 0 });
	});

	it("with such a record they match no other format", () => {
		for (const record of [checkpoint(0), usage(1)]) {
			const located = locateMessages([call("a"), record]);
			expect(openaiChat.probe(located)).toMatchObject({ fit: "none", message: 1 });
			expect(kimiContext.probe(located)).toEqual({ fit: "certain" });
		}
	});

	it.each([
		[{ role: "_checkpoint", id: "0" }],
		[{ role: "_checkpoint", id: 0, content: "x" }],
		[{ role: "_usage" }],
		[{ role: "_system_prompt", content: null }],
		[{ role: "constructor", content: "x" }],
	])("%j does not match", (record) => {
		expect(kimiContext.probe(locateMessages([{ role: "user", content: "Hi" }, record])).fit).toBe("none");
	});

	it.each([[[1]], [[{}]], [[{ role: 7 }]], [[{ role: "user", content: {} }]]])("does not match %j", (records) => {
		expect(kimiContext.probe(locateMessages([checkpoint(0), ...records]))).toMatchObject({ fit: "none", message: 1 });
		expect(kimiContext.probe(locateMessages([])).fit).toBe("none");
	});

	it("masks a result of several texts as one; its records keep their places", async () => {
		const policy = policyOf({ mask: { window_turns: 1 } });
		const { conversation, edits } = await maskConversation({ conversation: session, policy });
		expect(edits.map(({ path }) => path)).toEqual(["/6/content"]);
		const after = conversation as unknown[];
		expect(after[6]).toMatchObject({ content: [{ type: "text", text: expect.stringMatching(/^\[Observation/) }] });
		expect(after.toSpliced(6, 1)).toEqual(session.toSpliced(6, 1));
	});

	it("dropping removes the messages and keeps the records between them", async () => {
		const policy = policyOf({ preset: "context-guard", guard: { reserve_tokens: 0 } });
		const outcome = await guardConversation({ conversation: session, policy, contextWindow: 50 });
		expect(outcome.error).toBeUndefined();
		const stay = [0, 1, 3, 5, 7, 8, 9, 10];
		expect(outcome.conversation).toEqual(stay.map((index) => session[index]));
	});

	it.each([
		[{ type: "think", think: "Hm." }, false],
		[{ type: "think", think: "Hm.", encrypted: null }, false],
		[{ type: "think", think: "Hm.", encrypted: "ZW5j" }, true],
	])("%j is reasoning", (part, bound) => {
		const [message] = read(checkpoint(0), call("a", { type: "text", text: "Look." }, part)).messages;
		expect(message?.thinking).toEqual([{ path: [1, "content", 1], text: "Hm.", bound }]);
		expect(message?.counted).toEqual(["Shell", '{"command":"ls"}', "Look.", "Hm."]);
	});

	it.each(["image", "audio", "video"])("counts %s parts by estimate, not by their data", (kind) => {
		const part = { type: `${kind}_url`, [`${kind}_url`]: { url: `data:${kind}/x;base64,${"A".repeat(400)}` } };
		const [message] = read(checkpoint(0), { role: "tool", tool_call_id: "a", content: [part] }).messages;
		expect(message?.mediaTokens).toBeGreaterThan(0);
		expect(message?.counted).toEqual([]);
		expect(message?.results[0]?.media).toMatchObject([
			{ kind, mediaType: `${kind}/x`, bytes: 300, path: [1, "content", 0] },
		]);
	});
});
