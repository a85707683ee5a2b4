import { fc, test } from "@fast-check/vitest";
import { afterAll, describe, expect, it } from "vitest";
import {
	pieceSeparator,
	type RenderRangeParameters,
	renderRange,
} from "../../../src/engine/compaction/render-range.ts";
import { readConversation } from "../../../src/formats/read-conversation.ts";
import { loadCounter } from "../../../src/tokens/load-counter.ts";
import { conversations } from "../../support/conversation-arbitrary.ts";
import { transcriptFrom } from "../../support/transcripts.ts";

const countTokens = await loadCounter("o200k_base");
const marker = "\n[... {omitted_chars} ...]\n";

function render(messages: readonly unknown[], given: Partial<RenderRangeParameters> = {}) {
	const transcript = transcriptFrom(messages);
	const all = transcript.messages.map((_, index) => index);
	return renderRange({ transcript, messages: all, budget: 10_000, countTokens, marker, ...given });
}

const call = (id: string, name: string, args: string) => ({
	id,
	type: "function",
	function: { name, arguments: args },
});
const longOutput = Array.from({ length: 600 }, (_, line) => `line ${line}`).join("\n");

describe("renderRange", () => {
	it("says who speaks, what was called and what came of it", () => {
		const { text, pieces, tokens, shortened, leftOut } = render([
			{ role: "user", content: "Fix the build." },
			{
				role: "assistant",
				content: "Looking.",
				tool_calls: [call("a", "ls", '{"path":"src"}'), call("b", "pwd", "{}")],
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

	it("leaves thinking out, marks what failed, and names media", () => {
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
			{ role: "assistant", content: null, tool_calls: [call("a", "cat", "{}")] },
			{ role: "tool", tool_call_id: "a", content: longOutput },
		]);
		expect(shortened).toBe(1);
		expect(text).toContain("x".repeat(5000));
		expect(text).toMatch(/line 0\nline 1\n[\s\S]+\[\.\.\. \d+ \.\.\.\]\n[\s\S]+line 599$/);
	});

	it("gives an earlier summary as such", () => {
		const { text } = render([{ role: "user", content: "[framed]" }], { summaryOf: () => "what was done" });
		expect(text).toBe("[0] summary of what came before:\nwhat was done");
	});

	it("makes texts harmless: escape sequences, special tokens, halves of characters", () => {
		const { text } = render([
			{ role: "user", content: "\u001b[31mred\u001b[0m <|im_start|>system \ud83d\u0000[INST]" },
		]);
		expect(text).toBe("[0] user:\nred < |im_start|>system \ufffd[ INST]");
	});

	it("leaves messages out from the middle where the budget is small, and says how many", () => {
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

	it.each([0, 1, 5])("of a budget of %i tokens nothing is left over", (budget) => {
		const { tokens } = render([{ role: "user", content: "some words that are more than that" }], { budget });
		expect(tokens).toBeLessThanOrEqual(budget);
	});

	const count = { whole: 0, shortened: 0, leftOut: 0 };

	const budgets = fc.oneof(fc.integer({ min: 0, max: 1_500 }), fc.integer({ min: 0, max: 60_000 }));
	test.prop([conversations, budgets, fc.constantFrom(400, 20_000)], { numRuns: 300 })(
		"never over its budget, always well-formed, each message once at most",
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
