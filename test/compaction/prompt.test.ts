import { fc, test } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { delimiterFor, wordNotIn } from "../../src/compaction/clean-text.ts";
import { handoverWordings, writeHandoverPrompt } from "../../src/compaction/prompt.ts";
import { localeNames } from "../../src/policy/names.ts";

const occurrences = (text: string, word: string) => text.split(word).length - 1;

describe("the request for a summary", () => {
	it.each(localeNames)("has all sections, its limit, and the text between two marker lines (%s)", (locale) => {
		for (const of of ["messages", "summaries"] as const) {
			const prompt = writeHandoverPrompt({
				pieces: ["[0] user:\nhello", "[1] assistant:\nhi"],
				locale,
				maxTokens: 777,
				of,
			});
			const delimiter = delimiterFor("[0] user:\nhello\n\n[1] assistant:\nhi");
			expect(prompt).toContain(`<<<${delimiter}\n\n[0] user:\nhello\n\n[1] assistant:\nhi\n\n${delimiter}>>>\n`);
			expect(handoverWordings[locale].sections.length).toBe(6);
			for (const section of handoverWordings[locale].sections) expect(prompt).toContain(`\n## ${section}`);
			expect(prompt).toContain("777");
			expect(prompt).not.toMatch(/\{(?:delimiter|max_tokens)\}/);
			const wording = handoverWordings[locale];
			expect(prompt.startsWith(of === "messages" ? wording.ask : wording.askToJoin)).toBe(true);
			expect(prompt.endsWith(wording.reminder)).toBe(true);
		}
	});

	it("replaces no variables inside the text", () => {
		const pieces = ["{delimiter} {max_tokens} $& $1"];
		const prompt = writeHandoverPrompt({ pieces, locale: "en", maxTokens: 9, of: "messages" });
		expect(prompt).toContain("\n{delimiter} {max_tokens} $& $1\n");
	});

	it("is not ended by a text with the lines of an earlier prompt", () => {
		const first = writeHandoverPrompt({ pieces: ["a"], locale: "en", maxTokens: 9, of: "messages" });
		const second = writeHandoverPrompt({ pieces: [first], locale: "en", maxTokens: 9, of: "messages" });
		const word = delimiterFor(first);
		expect(occurrences(first, word)).toBe(0);
		// Once in the rules and once at each end.
		expect(occurrences(second, word)).toBe(3);
	});

	it("chooses another word when the text contains the first choice", () => {
		const words: string[] = [];
		for (let round = 0; round < 50; round += 1) words.push(wordNotIn(words.join(" "), 4_000_000_000));
		expect(new Set(words).size).toBe(50);
		expect(wordNotIn("", 4_000_000_000)).toBe(words[0]);
	});

	test.prop([fc.string({ unit: "binary", maxLength: 300 })])("uses a word that never occurs in the text", (text) => {
		const word = delimiterFor(text);
		expect(text.includes(word)).toBe(false);
		expect(word).toMatch(/^[0-9a-z]{7}$/);
		expect(delimiterFor(text)).toBe(word);
	});
});
