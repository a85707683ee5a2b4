import { describe, expect, it } from "vitest";
import { shorten, strategies } from "./shorten.ts";

const kinds: Readonly<Record<string, () => string>> = {
	"one line of 2 MB": () => "word and word ".repeat(145_000),
	"2 MB of one letter": () => "a".repeat(2_000_000),
	"400 000 empty lines": () => "\n".repeat(400_000),
	"400 kB of one emoji": () => "👨‍👩‍👧‍👦".repeat(36_000),
	"400 kB of flags": () => "🇫🇷".repeat(100_000),
	"a letter with 400 000 marks": () => `e${"\u0301".repeat(400_000)}`,
	"lone surrogates": () => "\ud83d".repeat(200_000),
	NULs: () => "\0".repeat(200_000),
	"mixed encodings": () => "caf\u00c3\u00a9 \ufffd\ufffd ok\n".repeat(60_000),
	"deep JSON": () => "[".repeat(200_000) + "]".repeat(200_000),
	"unclosed escape sequences": () => "\u001b]".repeat(300_000),
	"escape sequences alone": () => "\u001b[31m".repeat(200_000),
	"a string of escapes": () => JSON.stringify('\\\n"'.repeat(300_000)),
	"carriage returns": () => "10 %\r".repeat(200_000),
	"fifty thousand distinct errors": () =>
		Array.from({ length: 50_000 }, (_, index) => `error: thing ${index.toString(36)} failed`).join("\n"),
};

describe("pathological texts", () => {
	// Quadratic work on any of these would take hours; the runner's own limit is the check.
	it.each(Object.keys(kinds))("%s: within the budget, well-formed, never empty", (kind) => {
		const text = (kinds[kind] as () => string)();
		for (const strategy of strategies) {
			const cut = shorten(text, 4_000, { strategy, focus: strategy === "focus" ? "where is thing abc" : "" });
			expect(cut.text.length).toBeLessThanOrEqual(4_000);
			expect(cut.text.isWellFormed()).toBe(true);
			expect(cut.text).not.toBe("");
			expect(cut.truncated).toBe(true);
		}
	});

	it("four million empty lines are shortened within the limit", () => {
		const cut = shorten("\n".repeat(4_000_000), 4_000, { strategy: "auto" });
		expect(cut.text.length).toBeLessThanOrEqual(4_000);
		expect(cut.text).not.toBe("");
		expect(cut.truncated).toBe(true);
	});

	it("never splits a grapheme", () => {
		for (const character of ["👨‍👩‍👧‍👦", "🇫🇷", "e\u0301\u0323", "👍🏽", "각"]) {
			for (let max = 60; max < 90; max += 1) {
				const shown = shorten(character.repeat(500), max, { strategy: "head_tail", ref: undefined }).text;
				const rest = shown.replaceAll(character, "").replace(/\[[^\]]*\]|\n/g, "");
				expect(rest, `${character} at ${max}`).toBe("");
			}
		}
	});
});
