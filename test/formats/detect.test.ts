import { describe, expect, it } from "vitest";
import { readConversation, requestBody } from "../../src/formats/detect.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { maskConversation } from "../../src/operations/mask.ts";
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
