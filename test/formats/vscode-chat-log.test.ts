import { describe, expect, it } from "vitest";
import { readConversation } from "../../src/formats/detect.ts";
import { readChatLog } from "../../src/formats/vscode-chat.ts";
import { deepFreeze } from "../support/deep-freeze.ts";
import { outputOf } from "../support/sample-text.ts";

const request = (id: string) => ({
	requestId: id,
	message: { text: `Do ${id}.`, parts: [{ text: `Do ${id}.`, kind: "text" }] },
	response: [],
});
const result = (id: string) => ({
	metadata: {
		toolCallRounds: [
			{ response: "I look.", toolCalls: [{ id, name: "read_file", arguments: "{}" }] },
			{ response: "Done.", toolCalls: [] },
		],
		toolCallResults: { [id]: { content: [{ $mid: 21, value: outputOf(id) }] } },
	},
});
const snapshot = { kind: 0, v: { version: 3, sessionId: "s", requests: [request("one")] } };
const textsOf = (chat: unknown) => readConversation(chat).transcript.messages.flatMap(({ counted }) => counted);

describe("the log of a chat of VS Code", () => {
	it("is the chat after all changes", () => {
		const chat = readChatLog(
			deepFreeze([
				snapshot,
				{ kind: 1, k: ["customTitle"], v: "Title" },
				{ kind: 2, k: ["requests", 0, "response"], v: [{ value: "I look" }] },
				{ kind: 2, k: ["requests", 0, "response"], i: 0, v: [{ value: "I look at it." }, { value: "gone" }] },
				{ kind: 2, k: ["requests", 0, "response"], i: 1 },
				{ kind: 1, k: ["requests", 0, "result"], v: result("a") },
				{ kind: 2, k: ["requests"], v: [request("two")] },
				{ kind: 3, k: ["customTitle"] },
			]),
		);
		expect(chat).toEqual({
			...snapshot.v,
			customTitle: undefined,
			requests: [{ ...request("one"), response: [{ value: "I look at it." }], result: result("a") }, request("two")],
		});
		const { format, transcript } = readConversation(chat);
		expect(format.name).toBe("vscode-chat");
		expect(transcript.messages.map(({ role }) => role)).toEqual(["user", "assistant", "assistant", "user"]);
		expect(transcript.messages[1]?.results[0]?.texts[0]?.text).toBe(outputOf("a"));
	});

	it("starts again at a later snapshot", () => {
		const chat = readChatLog([snapshot, { kind: 2, k: ["requests"], v: [request("two")] }, snapshot]);
		expect(textsOf(chat)).toEqual(["Do one."]);
	});

	it("leaves out changes of places that there are not, and never changes a prototype", () => {
		const chat = readChatLog([
			snapshot,
			{ kind: 1, k: ["requests", 7, "result"], v: 1 },
			{ kind: 1, k: ["requests", 4_000_000_000], v: 1 },
			{ kind: 1, k: ["__proto__", "polluted"], v: 1 },
			{ kind: 1, k: ["constructor", "prototype", "polluted"], v: 1 },
			{ kind: 2, k: ["version"], v: [1] },
			{ kind: 2, k: ["requests"], i: -1 },
		]);
		expect(chat).toEqual(snapshot.v);
		expect(({} as Record<string, unknown>).polluted).toBeUndefined();
	});

	it.each([
		["a list of messages", [{ role: "user", content: "Hi" }]],
		["changes without a snapshot", [{ kind: 2, k: ["requests"], v: [request("two")] }]],
		["a snapshot of something else", [{ kind: 0, v: { items: [] } }]],
		["other records after a snapshot", [snapshot, { kind: 9 }]],
		["an object", snapshot],
	])("is not %s", (_, records) => {
		expect(readChatLog(records)).toBeUndefined();
	});
});
