import { describe, expect, it } from "vitest";
import { readConversation } from "../../../src/formats/detect.ts";
import { conversationKey, messageKey, ownedName, resultKeys } from "../../../src/proxy/sending/identity.ts";

type Turn = readonly [id: string, command: string, output: string];

function transcriptOf(turns: readonly Turn[], task = "Look around.") {
	const messages = [
		{ role: "user", content: task },
		...turns.flatMap(([id, command, output]) => [
			{
				role: "assistant",
				content: null,
				tool_calls: [{ id, type: "function", function: { name: "bash", arguments: command } }],
			},
			{ role: "tool", tool_call_id: id, content: output },
		]),
	];
	return readConversation({ messages }).transcript;
}

const long: Turn = ["call_A09q90qw90lq917835", "ls", "a b c"];
const short: Turn = ["call_1", "ls", "a b c"];

describe("a conversation", () => {
	it("has no name before its first tool turn", () => {
		expect(conversationKey(transcriptOf([]))).toBeUndefined();
	});

	it("keeps its name when it goes on, and when the system prompt or later results change", () => {
		const key = conversationKey(transcriptOf([long]));
		expect(conversationKey(transcriptOf([long, ["call_2", "cat a", "text"]]))).toBe(key);
		expect(conversationKey(transcriptOf([[long[0], long[1], "masked by the host"]]))).toBe(key);
		expect(conversationKey(transcriptOf([long], "The same, reworded by the host."))).toBe(key);
	});

	it("that begins with a call keeps its name when a person speaks later", () => {
		const { messages, ...rest } = transcriptOf([short]);
		const [user, ...turn] = messages;
		const key = conversationKey({ ...rest, messages: turn });
		expect(conversationKey({ ...rest, messages: user ? [...turn, user] : [] })).toBe(key);
	});

	it("with ids that any conversation has is known by its task too", () => {
		const key = conversationKey(transcriptOf([short]));
		expect(conversationKey(transcriptOf([short], "Another task."))).not.toBe(key);
		expect(conversationKey(transcriptOf([["call_1", "ls -l", "a b c"]]))).not.toBe(key);
	});
});

describe("a result", () => {
	it("with a distinct id is known in every conversation, by its text too", () => {
		const [key] = resultKeys(transcriptOf([long]), "one");
		expect(resultKeys(transcriptOf([["call_2", "pwd", "/"], long]), "another")[1]).toBe(key);
		expect(resultKeys(transcriptOf([[long[0], "ls", "changed"]]), "one")[0]).not.toBe(key);
	});

	it("with another id is known in its conversation alone", () => {
		const [key] = resultKeys(transcriptOf([short]), "one");
		expect(resultKeys(transcriptOf([short]), "one")[0]).toBe(key);
		expect(resultKeys(transcriptOf([short]), "another")[0]).not.toBe(key);
	});

	it("is known with the text around it, which its placeholder repeats", () => {
		const text = (name: string) => ({ role: "user", content: `[read_file for '${name}'] Result:\nthe same` });
		const messages = [
			{ role: "user", content: "Task." },
			{ role: "assistant", content: "<read_file>" },
		];
		const keyOf = (name: string) => resultKeys(readConversation([...messages, text(name)]).transcript, "one")[0];
		expect(keyOf("a")).toBe(keyOf("a"));
		expect(keyOf("a")).not.toBe(keyOf("b"));
	});

	it("that is JSON is known by all of it", () => {
		const transcript = (code: number) =>
			readConversation([
				{ role: "user", parts: [{ text: "Go." }] },
				{ role: "model", parts: [{ functionCall: { id: long[0], name: "run", args: {} } }] },
				{ role: "user", parts: [{ functionResponse: { id: long[0], name: "run", response: { out: "a", code } } }] },
			]).transcript;
		const [key] = resultKeys(transcript(0), "one");
		expect(resultKeys(transcript(0), "one")[0]).toBe(key);
		expect(resultKeys(transcript(1), "one")[0]).not.toBe(key);
	});

	it("that is equal to an earlier one has a key of its own", () => {
		const keys = resultKeys(transcriptOf([short, short, short]), "one");
		expect(new Set(keys).size).toBe(3);
	});

	it("keeps its key when the host rewrites an earlier equal one, and has not that of an equal one of another branch", () => {
		const [, command, output] = short;
		const two: Turn = ["call_2", command, output];
		const three: Turn = ["call_3", command, output];
		const [first, key] = resultKeys(transcriptOf([short, two]), "one");
		expect(resultKeys(transcriptOf([["call_1", command, "shorter"], two]), "one")[1]).toBe(key);
		expect(resultKeys(transcriptOf([["call_1", "pwd", "/"], three]), "one")).not.toContain(first);
	});
});

it("a message is named by its texts and its calls", () => {
	const { messages } = transcriptOf([long, ["call_2", "ls", "other"]]);
	const keys = messages.map(messageKey);
	expect(new Set(keys).size).toBe(keys.length);
	expect(transcriptOf([long]).messages.map(messageKey)).toEqual(keys.slice(0, 3));
});

it("the same text of two people is two conversations, whose results have keys of their own", () => {
	const transcript = transcriptOf([long, short]);
	const names = ["", "ann", "ben"].map((owner) => ownedName(owner, conversationKey(transcript) as string));
	expect(names[0]).toBe(conversationKey(transcript));
	const keys = names.flatMap((name) => resultKeys(transcript, name));
	expect([new Set(names).size, new Set(keys).size]).toEqual([3, 6]);
});
