import { describe, expect, it } from "vitest";
import type { Message } from "../../../src/engine/conversation/transcript.ts";
import { pairResults } from "../../../src/engine/conversation/turns.ts";
import { callFocusReader, focusOfCall } from "../../../src/engine/truncation/focus.ts";
import { messageOf, resultOf, transcriptFrom, transcriptOf } from "../../support/transcripts.ts";

describe("focusOfCall", () => {
	it("reads the texts of the arguments, given as a value, as JSON or as free text", () => {
		const input = { path: "src/a.ts", limits: [{ why: "maxRetries" }], offset: 7, nothing: null };
		expect(focusOfCall({ input })).toBe("src/a.ts\nmaxRetries");
		expect(focusOfCall({ input: JSON.stringify(input) })).toBe("src/a.ts\nmaxRetries");
		expect(focusOfCall({ input: "*** Begin Patch" })).toBe("*** Begin Patch");
		expect(focusOfCall({ input: '{"path": "cut of' })).toBe('{"path": "cut of');
		expect(focusOfCall({ input: ['{"path":"a"}', " "] })).toBe('{"path":"a"}\n ');
		expect(focusOfCall({ input: { path: " " }, words: "why" })).toBe("why");
		for (const input of [undefined, null, 7, {}, [], ""]) expect(focusOfCall({ input })).toBe("");
	});

	it("reads JSON of objects, lists and texts only", () => {
		expect(["123", "true", ' {"a":"b"}', '["c"]', '"d"', 'x{"a":"b"}'].map((input) => focusOfCall({ input }))).toEqual([
			...["123", "true", "b", "c", "d", 'x{"a":"b"}'],
		]);
	});

	it("reads 1000 texts of the arguments at most", () => {
		const texts = (count: number) => Array.from({ length: count }, () => "a");
		expect(focusOfCall({ input: [texts(600), [...texts(400), "b"]] })).toBe(texts(1_000).join("\n"));
		expect(focusOfCall({ input: [texts(600), [...texts(399), "b"]] }).endsWith("a\nb")).toBe(true);
	});

	it("puts the words before the call first and the task last, each limited", () => {
		expect(focusOfCall({ input: { q: "x" }, words: "I look for y.", task: "Find z." })).toBe(
			"x\nI look for y.\nFind z.",
		);
		const long = "word ".repeat(100_000);
		expect(focusOfCall({ input: { a: long, b: long }, words: long, task: long }).length).toBe(3 * 4_000 + 2);
		const many = Array.from({ length: 100_000 }, (_, index) => ({ [`key${index}`]: [`${index}`] }));
		expect(focusOfCall({ input: many }).length).toBeLessThanOrEqual(4_000);
	});
});

describe("callFocusReader", () => {
	it("leaves out what the assistant thought", () => {
		const bash = { ...messageOf({ calls: [{ id: "a", name: "bash" }], counted: ["I think hard.", "I look for y."] }) };
		const thinking = [{ text: "I think hard." }] as unknown as Message["thinking"];
		const transcript = transcriptOf({ ...bash, thinking }, messageOf({ role: "tool", results: [resultOf("a", "x")] }));
		const read = callFocusReader(transcript.messages);
		expect(pairResults(transcript).map(read)).toEqual(["I look for y."]);
	});

	it("reads all texts of a message", () => {
		const words = messageOf({ calls: [{ id: "a", name: "bash" }], counted: ["I look for y.", "Then z."] });
		const transcript = transcriptOf(words, messageOf({ role: "tool", results: [resultOf("a", "x")] }));
		expect(pairResults(transcript).map(callFocusReader(transcript.messages))).toEqual(["I look for y.\nThen z."]);
	});

	const call = (id: string, args: object, content: string | null = null) => ({
		role: "assistant",
		content,
		tool_calls: [{ id, type: "function", function: { name: "search", arguments: JSON.stringify(args) } }],
	});
	const result = (id: string) => ({ role: "tool", tool_call_id: id, content: "found" });
	const focusesOf = (messages: readonly object[]) => {
		const transcript = transcriptFrom(messages);
		return pairResults(transcript).map(callFocusReader(transcript.messages));
	};
	const history = [
		{ role: "user", content: "Fix the parser." },
		result("ghost"),
		call("a", { q: "tokenizer" }),
		result("a"),
		call("b", { q: "grammar" }, "Now the grammar file."),
		result("b"),
		call("c", { q: "tests" }),
		result("c"),
		{ role: "user", content: "And the docs." },
		call("a", { q: "docs" }),
		result("a"),
	];

	it("uses the arguments, the assistant's last words and the user's, and nothing after the call", () => {
		expect(focusesOf(history)).toEqual([
			"Fix the parser.",
			"tokenizer\nFix the parser.",
			"grammar\nNow the grammar file.\nFix the parser.",
			"tests\nNow the grammar file.\nFix the parser.",
			"docs\nNow the grammar file.\nAnd the docs.",
		]);
	});

	it("uses the last words without the white space around them", () => {
		expect(focusesOf([{ role: "user", content: "\n Go on. \n" }, call("a", { q: "x" }), result("a")])).toEqual([
			"x\nGo on.",
		]);
	});

	it("is independent of later messages", () => {
		const whole = focusesOf(history);
		for (let end = 1; end < history.length; end += 1) {
			const begun = focusesOf(history.slice(0, end));
			expect(begun).toEqual(whole.slice(0, begun.length));
		}
	});
});
