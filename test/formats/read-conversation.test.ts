import { describe, expect, it } from "vitest";
import { formats, readConversation } from "../../src/formats/read-conversation.ts";
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

describe("readConversation: what is no conversation", () => {
	it.each([
		["a string", "hello", "a string"],
		["null", null, "null"],
		["a number", 7, "a number"],
		["nothing", undefined, "a undefined"],
		["an object without messages", { model: "m" }, "an object without `messages`"],
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

	it("an inherited `messages` is none", () => {
		expect(() => readConversation(Object.create({ messages: [] }))).toThrow();
	});
});

describe("readConversation: messages that fit no format", () => {
	it("names what was looked for, in which message it failed, and what was expected there", () => {
		const message = messageOfError([
			{ role: "user", content: "Hi" },
			{ role: "model", parts: [] },
			{ speaker: "x", text: "secret" },
		]);
		expect(message).toMatch(/^The 3 messages fit no format\. Looked for:\n/);
		expect(message).toContain("- Anthropic Messages (");
		expect(message).toContain("message 2 does not fit, expected an object with a string `role`");
		expect(message).toContain("OpenAI Chat Completions (message 1)");
		for (const { title } of formats) expect(message).toContain(title.split(" ")[0]);
		expect(message).toMatch(/Messages are numbered from 0\.$/);
	});

	it("never quotes conversation text", () => {
		expect(messageOfError([{ speaker: "secret", text: "secret" }])).not.toContain("secret");
	});

	it("a mixture of two formats fits none", () => {
		const mixed = [
			...writeMessages("openai-chat", toolTurn("a", "x")),
			...writeMessages("anthropic-messages", toolTurn("b", "x")),
		];
		const message = messageOfError(mixed);
		expect(message).toMatch(/OpenAI.*: message 2 does not fit/);
		expect(message).toMatch(/Anthropic Messages \(message 0\)/);
	});
});

describe("readConversation: what fits several formats", () => {
	it("texts alone are read as Chat Completions", () => {
		expect(readConversation([{ role: "user", content: "Hello" }]).format.name).toBe("openai-chat");
	});

	it("an empty list is a conversation without messages", () => {
		expect(readConversation([]).transcript.messages).toEqual([]);
		expect(readConversation({ messages: [] }).transcript.messages).toEqual([]);
	});
});
