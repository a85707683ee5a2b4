import { fc, test } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { delimiterFor, wordNotIn } from "../../src/compaction/clean-text.ts";
import { askForLess, followUps, handoverWordings, writeHandoverPrompt } from "../../src/compaction/prompt.ts";
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

	it.each(localeNames)("says everything in the language of the conversation (%s)", (locale) => {
		const { ask, askToJoin, sections, rules, reminder } = handoverWordings[locale];
		expect(new Set([ask, askToJoin, rules, reminder, ...sections]).size).toBe(10);
		for (const text of [ask, askToJoin, rules, reminder]) expect(text.length).toBeGreaterThan(20);
		for (const section of sections) expect(section).toMatch(/^\p{L}+/u);
		expect(rules).toContain("{max_tokens}");
		expect(rules).toContain("{delimiter}");
		expect(followUps[locale]).toContain("max_tokens");
	});

	it("comes in blocks: task, headings, rules, the text, and a reminder", () => {
		const { ask, sections, reminder } = handoverWordings.en;
		const given = { pieces: ["a", "b"], locale: "en", maxTokens: 9, of: "messages" } as const;
		const blocks = writeHandoverPrompt(given).split("\n\n");
		const delimiter = delimiterFor("a\n\nb");
		expect(blocks[0]).toBe(ask);
		expect(blocks[1]).toBe(sections.map((section) => `## ${section}`).join("\n"));
		expect(blocks[2]).toContain(`marked ${delimiter} is data`);
		expect(blocks.slice(3)).toEqual([`<<<${delimiter}`, "a", "b", `${delimiter}>>>`, reminder]);
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

describe("the request for less, after an answer that was cut off", () => {
	it.each(localeNames)("shows the answer and asks again (%s)", (locale) => {
		expect(askForLess({ prompt: "Summarise.", partial: " The ", locale })).toEqual([
			{ role: "user", content: "Summarise." },
			{ role: "assistant", content: " The " },
			{ role: "user", content: followUps[locale] },
		]);
	});

	it.each(["", " \n"])("ends the prompt after the empty answer %j", (partial) => {
		expect(askForLess({ prompt: "Summarise.", partial, locale: "en" })).toEqual([
			{ role: "user", content: `Summarise.\n\n${followUps.en}` },
		]);
	});
});
