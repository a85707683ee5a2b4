import { describe, expect, it } from "vitest";
import { loadCounter } from "../../../src/formats/tokens/counter.ts";
import { createDraw, randomText } from "./random-text.ts";
import { isSameEverywhere, reference, tableNames, tiktoken } from "./reference.ts";

const texts = 12_000;

describe.each(tableNames)("the %s counter on random Unicode", (name) => {
	it(`agrees with tiktoken and gpt-tokenizer on ${texts} texts`, async () => {
		const count = await loadCounter(name);
		const draw = createDraw(name === "o200k_base" ? 1 : 2);
		const seen = { compared: 0, asked: 0, loneSurrogates: 0, specials: 0, marks: 0, spaced: 0 };
		for (let index = 0; index < texts; index++) {
			const text = randomText(draw);
			const counted = count(text);
			if (counted !== tiktoken[name](text)) expect([text, counted]).toEqual([text, tiktoken[name](text)]);
			seen.compared++;
			if (!text.isWellFormed()) seen.loneSurrogates++;
			if (text.includes("<|")) seen.specials++;
			if (/\p{M}/u.test(text)) seen.marks++;
			if (/\s{2}/.test(text)) seen.spaced++;
			if (!isSameEverywhere(text)) continue;
			const other = reference[name](text.toWellFormed());
			if (counted !== other) expect([text, counted]).toEqual([text, other]);
			seen.asked++;
		}
		expect(seen.compared).toBe(texts);
		expect(seen.asked).toBeGreaterThan(texts / 2);
		for (const times of Object.values(seen)) expect(times).toBeGreaterThan(texts / 50);
	});
});
