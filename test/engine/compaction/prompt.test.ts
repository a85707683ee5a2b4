import { fc, test } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { delimiterFor } from "../../../src/engine/compaction/clean-text.ts";
import { askForLess, followUps, writeHandoverPrompt } from "../../../src/engine/compaction/prompt.ts";
import { localeNames } from "../../../src/engine/policy/names.ts";
import { anyCharacter } from "../../support/any-character.ts";

const occurrences = (text: string, word: string) => text.split(word).length - 1;

describe("the request for a summary", () => {
	const text = "[0] user:\nhello\n\n[1] assistant:\nhi";
	const promptOf = (locale: (typeof localeNames)[number], of: "messages" | "summaries") =>
		writeHandoverPrompt({ pieces: text.split("\n\n"), locale, maxTokens: 777, of });

	it.each(localeNames)(
		"has blocks: task, headings, rules, the text between marker lines, a reminder (%s)",
		(locale) => {
			const delimiter = delimiterFor(text);
			for (const of of ["messages", "summaries"] as const) {
				const blocks = promptOf(locale, of).split("\n\n");
				const [ask = "", headings = "", rules = ""] = blocks;
				expect(ask.length).toBeGreaterThan(20);
				expect(headings).toMatch(/^(?:## \p{L}[^\n]*(?:\n|$)){6}$/u);
				expect(rules).toContain("777");
				expect(rules).toContain(delimiter);
				expect(blocks.slice(3, -1)).toEqual([`<<<${delimiter}`, ...text.split("\n\n"), `${delimiter}>>>`]);
				expect(blocks.at(-1)?.length).toBeGreaterThan(20);
				expect(blocks.join()).not.toMatch(/\{(?:delimiter|max_tokens)\}/);
			}
			const [messages, summaries] = [promptOf(locale, "messages"), promptOf(locale, "summaries")];
			expect(messages.split("\n\n")[0]).not.toBe(summaries.split("\n\n")[0]);
			expect(messages.split("\n\n").slice(1)).toEqual(summaries.split("\n\n").slice(1));
		},
	);

	it("says everything in the language of the conversation", () => {
		const blocks = localeNames.flatMap((locale) => [
			promptOf(locale, "summaries").split("\n\n")[0],
			...promptOf(locale, "messages").split(/\n\n|\n(?=## )/),
		]);
		const own = blocks.filter(
			(block) => !text.includes(block ?? "") && !block?.includes(">>") && !block?.includes("<<"),
		);
		expect(own).toHaveLength(localeNames.length * 10);
		expect(new Set(own).size).toBe(own.length);
		for (const locale of localeNames) expect(followUps[locale]).toContain("max_tokens");
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

	test.prop([fc.string({ unit: anyCharacter, maxLength: 300 })])(
		"uses a word that never occurs in the text",
		(text) => {
			const word = delimiterFor(text);
			expect(text.includes(word)).toBe(false);
			expect(word).toMatch(/^[0-9a-z]{7}$/);
			expect(delimiterFor(text)).toBe(word);
		},
	);
});

describe("the request for a shorter answer, after one that was cut off", () => {
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
