import { fc, test } from "@fast-check/vitest";
import { afterAll, describe, expect, it } from "vitest";
import {
	packPieces,
	pickRange,
	pieceSeparator,
	renderRange,
	splitInTwo,
} from "../../../src/engine/compaction/range.ts";
import type { Message, Transcript } from "../../../src/engine/conversation/transcript.ts";
import { readConversation } from "../../../src/formats/detect.ts";
import { loadCounter } from "../../../src/formats/tokens/counter.ts";
import { conversations } from "../../support/conversation-arbitrary.ts";
import { messageOf, resultOf, transcriptFrom, transcriptOf } from "../../support/transcripts.ts";
import { checkRange } from "./range-checks.ts";

const system = messageOf({ role: "system" });

const user = messageOf({ role: "user" });

const plain = messageOf({});

const call = (...ids: string[]) => messageOf({ calls: ids.map((id) => ({ id, name: "ls" })) });

const result = (...ids: string[]) => messageOf({ role: "tool", results: ids.map((id) => resultOf(id)) });

const pick = (keepLastMessages: number, ...messages: readonly Message[]) =>
	pickRange({ transcript: transcriptOf(...messages), keepLastMessages, pinTask: true });

describe("pickRange", () => {
	it("takes complete groups between the task and the last messages", () => {
		const range = pick(2, system, user, call("a"), result("a"), plain, user, plain);
		expect(range?.messages).toEqual([2, 3, 4]);
		expect(range?.groups.map((group) => group.messages)).toEqual([[2, 3], [4]]);
		expect(range?.first).toBe(2);
	});

	it("keeps a group complete when one of the last messages belongs to it", () => {
		expect(pick(1, user, plain, call("a", "b"), result("a"), result("b"))?.messages).toEqual([1]);
		expect(pick(2, user, plain, call("a"), result("a"), plain)?.messages).toEqual([1]);
	});

	it("skips a group that reaches into the last messages", () => {
		expect(pick(1, user, plain, call("a", "b"), result("a"), plain, result("b"))?.messages).toEqual([1, 4]);
	});

	it("keeps system messages at any position", () => {
		expect(pick(1, user, plain, system, plain, system, plain)?.messages).toEqual([1, 3]);
	});

	it("keeps messages before the task with it, unless the task is not pinned", () => {
		expect(pick(1, plain, user, plain, plain)?.messages).toEqual([2]);
		const transcript = transcriptOf(plain, user, plain, plain);
		expect(pickRange({ transcript, keepLastMessages: 1, pinTask: false })?.messages).toEqual([0, 1, 2]);
	});

	it("pins the task when the API requires a user message first", () => {
		const transcript: Transcript = { ...transcriptOf(user, plain, plain), opensWithUser: true };
		expect(pickRange({ transcript, keepLastMessages: 1, pinTask: false })?.messages).toEqual([1]);
	});

	it("keeps the assistant message between two user messages when roles must alternate", () => {
		const inTurn = (keepLastMessages: number, ...messages: readonly Message[]) =>
			pickRange({ transcript: { ...transcriptOf(...messages), inTurn: true }, keepLastMessages, pinTask: true })
				?.messages;
		const talk = [user, plain, user, call("a"), result("a"), plain, user, plain];
		expect(pick(2, ...talk)?.messages).toEqual([1, 2, 3, 4, 5]);
		expect(inTurn(2, ...talk)).toEqual([1, 2, 3, 4]);
		expect(inTurn(1, ...talk)).toEqual([1, 2, 3, 4, 5, 6]);
		expect(inTurn(0, ...talk)).toEqual([1, 2, 3, 4, 5, 6, 7]);
		expect(inTurn(2, user, plain, user, plain)).toBeUndefined();
		// What was not in turn before need not be afterwards.
		expect(inTurn(2, user, user, user, plain)).toEqual([1]);
	});

	it("ignores messages that a session no longer sends", () => {
		const gone = { ...plain, sent: false };
		expect(pick(1, gone, user, gone, plain, plain, gone)?.messages).toEqual([3]);
	});

	it("keeps as many last messages as requested: 2, 5, or none for 0", () => {
		const many = [user, ...Array.from({ length: 9 }, () => plain)];
		expect(pick(2, ...many)?.messages.length).toBe(7);
		expect(pick(5, ...many)?.messages.length).toBe(4);
		expect(pick(0, ...many)?.messages.length).toBe(9);
	});

	it("is undefined with nothing to summarise", () => {
		expect(pick(2)).toBeUndefined();
		expect(pick(2, system, user)).toBeUndefined();
		expect(pick(2, system, user, plain, plain)).toBeUndefined();
		expect(pick(1, user, call("a"), result("a"))).toBeUndefined();
		expect(pick(100, user, plain, plain, plain)).toBeUndefined();
	});

	it("does not summarise a summary alone, so that a second round ends", () => {
		const transcript = transcriptOf(user, user, plain, plain);
		const given = { transcript, keepLastMessages: 2, pinTask: true };
		expect(pickRange({ ...given, isSummary: (index) => index === 1 })).toBeUndefined();
		expect(pickRange({ ...given, keepLastMessages: 1, isSummary: (index) => index === 1 })?.messages).toEqual([1, 2]);
	});

	const count = { picked: 0, none: 0, holes: 0, calls: 0 };

	test.prop([conversations, fc.integer({ min: 0, max: 6 })], { numRuns: 400 })(
		"takes complete groups only, in any conversation",
		({ document }, keepLastMessages) => {
			const { transcript } = readConversation(document);
			const range = pickRange({ transcript, keepLastMessages, pinTask: true });
			if (!range) {
				count.none += 1;
				return;
			}
			checkRange(transcript, range, keepLastMessages);
			count.picked += 1;
			if (range.messages.length <= (range.messages.at(-1) ?? 0) - range.first) count.holes += 1;
			if (range.messages.some((index) => (transcript.messages[index]?.calls.length ?? 0) > 0)) count.calls += 1;
		},
	);

	afterAll(() => {
		expect(count.picked).toBeGreaterThan(150);
		expect(count.calls).toBeGreaterThan(80);
		expect(count.holes).toBeGreaterThan(10);
		expect(count.none).toBeGreaterThan(5);
	});
});

const countTokens = await loadCounter("o200k_base");

const marker = "\n[... {omitted_chars} ...]\n";

function render(messages: readonly unknown[], given: Partial<Parameters<typeof renderRange>[0]> = {}) {
	const transcript = transcriptFrom(messages);
	const all = transcript.messages.map((_, index) => index);
	return renderRange({ transcript, messages: all, budget: 10_000, countTokens, marker, ...given });
}

const functionCall = (id: string, name: string, args: string) => ({
	id,
	type: "function",
	function: { name, arguments: args },
});

const longOutput = Array.from({ length: 600 }, (_, line) => `line ${line}`).join("\n");

describe("renderRange", () => {
	it("gives the role, the calls and their results", () => {
		const { text, pieces, tokens, shortened, leftOut } = render([
			{ role: "user", content: "Fix the build." },
			{
				role: "assistant",
				content: "Looking.",
				tool_calls: [functionCall("a", "ls", '{"path":"src"}'), functionCall("b", "pwd", "{}")],
			},
			{ role: "tool", tool_call_id: "a", content: "main.ts" },
			{ role: "tool", tool_call_id: "b", content: "/home" },
		]);
		expect(text).toBe(
			[
				"[0] user:\nFix the build.",
				'[1] assistant:\nLooking.\n-> ls {"path":"src"}\n-> pwd {}',
				"[2] tool:\n<- ls\nmain.ts",
				"[3] tool:\n<- pwd\n/home",
			].join("\n\n"),
		);
		expect(pieces.join(pieceSeparator)).toBe(text);
		expect(tokens).toBe(countTokens(text));
		expect([shortened, leftOut]).toEqual([0, 0]);
	});

	it("omits thinking, marks failures, and names media", () => {
		const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } };
		const { text } = render([
			{ role: "user", content: [{ type: "text", text: "Look." }, image] },
			{
				role: "assistant",
				content: [
					{ type: "thinking", thinking: "secret thoughts", signature: "x" },
					{ type: "text", text: "I look." },
					{ type: "tool_use", id: "a", name: "shot", input: { at: 1 } },
				],
			},
			{
				role: "user",
				content: [
					{ type: "tool_result", tool_use_id: "a", is_error: true, content: [{ type: "text", text: "bad" }, image] },
				],
			},
		]);
		expect(text).not.toContain("secret");
		expect(text).toContain('I look.\n-> shot {"at":1}');
		expect(text).toMatch(/<- shot \(error\)\nbad\n\[media: image\/png, \d+ B\]/);
		expect(text).toMatch(/^\[0\] user:\nLook\.\n\[media\]/);
		expect(text).not.toContain("AAAA");
	});

	it("shortens results to head and tail before anything else", () => {
		const { text, shortened } = render([
			{ role: "user", content: "x".repeat(5000) },
			{ role: "assistant", content: null, tool_calls: [functionCall("a", "cat", "{}")] },
			{ role: "tool", tool_call_id: "a", content: longOutput },
		]);
		expect(shortened).toBe(1);
		expect(text).toContain("x".repeat(5000));
		expect(text).toMatch(/line 0\nline 1\n[\s\S]+\[\.\.\. \d+ \.\.\.\]\n[\s\S]+line 599$/);
	});

	it("marks an earlier summary as a summary", () => {
		const { text } = render([{ role: "user", content: "[framed]" }], { summaryOf: () => "what was done" });
		expect(text).toBe("[0] summary of what came before:\nwhat was done");
	});

	it("neutralises texts: escape sequences, special tokens, split characters", () => {
		const { text } = render([
			{ role: "user", content: "\u001b[31mred\u001b[0m <|im_start|>system \ud83d\u0000[INST]" },
		]);
		expect(text).toBe("[0] user:\nred < |im_start|>system \ufffd[ INST]");
	});

	it("omits messages from the middle when the budget is small, with their number", () => {
		const messages = Array.from({ length: 50 }, (_, index) => ({
			role: "user",
			content: `message ${index} ${"word ".repeat(40)}`,
		}));
		const { pieces, tokens, leftOut } = render(messages, { budget: 600 });
		expect(tokens).toBeLessThanOrEqual(600);
		expect(tokens).toBeGreaterThan(300);
		expect(pieces[0]).toContain("message 0");
		expect(pieces.at(-1)).toContain("message 49");
		expect(pieces.length - 1 + leftOut).toBe(50);
		expect(pieces.filter((piece) => piece === `[... ${leftOut} messages ...]`).length).toBe(1);
	});

	it.each([0, 1, 5])("uses up a budget of %i tokens", (budget) => {
		const { tokens } = render([{ role: "user", content: "some words that are more than that" }], { budget });
		expect(tokens).toBeLessThanOrEqual(budget);
	});

	const count = { whole: 0, shortened: 0, leftOut: 0 };

	const budgets = fc.oneof(fc.integer({ min: 0, max: 1_500 }), fc.integer({ min: 0, max: 60_000 }));
	test.prop([conversations, budgets, fc.constantFrom(400, 20_000)], { numRuns: 300 })(
		"never exceeds its budget, is always well-formed, with each message at most once",
		({ document }, budget, resultChars) => {
			const { transcript } = readConversation(document);
			const messages = transcript.messages.map((_, index) => index);
			const rendered = renderRange({ transcript, messages, budget, countTokens, marker, resultChars });
			expect(countTokens(rendered.text)).toBe(rendered.tokens);
			expect(rendered.tokens).toBeLessThanOrEqual(budget);
			expect(rendered.text.isWellFormed()).toBe(true);
			expect(rendered.pieces.join(pieceSeparator)).toBe(rendered.text);
			const shown = rendered.pieces.flatMap((piece) => /^\[(\d+)\] /.exec(piece)?.[1] ?? []).map(Number);
			expect(shown).toEqual([...new Set(shown)].toSorted((a, b) => a - b));
			if (rendered.leftOut > 0) count.leftOut += 1;
			else if (rendered.shortened > 0) count.shortened += 1;
			else count.whole += 1;
		},
	);

	afterAll(() => {
		expect(Math.min(count.whole, count.shortened, count.leftOut)).toBeGreaterThan(20);
	});
});

const length = (piece: string) => piece.length;

const pieces = fc.array(fc.string({ maxLength: 40 }), { maxLength: 12 });

describe("splitting between parts", () => {
	it("gives two halves of about the same size", () => {
		expect(splitInTwo(["aaaa", "b", "c", "d", "e"])).toEqual([["aaaa"], ["b", "c", "d", "e"]]);
		expect(splitInTwo(["a", "b", "cccc"])).toEqual([["a", "b"], ["cccc"]]);
		expect(splitInTwo(["", ""])).toEqual([[""], [""]]);
		expect(splitInTwo(["a"])).toBeUndefined();
		expect(splitInTwo([])).toBeUndefined();
	});

	test.prop([pieces])("keeps everything in two halves, in order, none empty or much larger than half", (all) => {
		const halves = splitInTwo(all);
		if (all.length < 2) {
			expect(halves).toBeUndefined();
			return;
		}
		expect(halves?.flat()).toEqual(all);
		const total = all.reduce((sum, piece) => sum + piece.length, 0);
		const largest = Math.max(...all.map(length));
		for (const half of halves ?? []) {
			expect(half.length).toBeGreaterThan(0);
			expect(half.reduce((sum, piece) => sum + piece.length, 0)).toBeLessThanOrEqual(total / 2 + largest);
		}
	});

	test.prop([pieces, fc.integer({ min: 1, max: 60 })])(
		"gives parts within the budget, in order, without omissions",
		(all, budget) => {
			const parts = packPieces(all, length, budget);
			expect(parts.flat()).toEqual(all);
			for (const part of parts) {
				if (part.length > 1) expect(part.reduce((sum, piece) => sum + piece.length, 0)).toBeLessThanOrEqual(budget);
				expect(part.length).toBeGreaterThan(0);
			}
		},
	);
});
