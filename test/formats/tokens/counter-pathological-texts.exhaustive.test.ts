import { describe, expect, it } from "vitest";
import { createCounter, readEncoding } from "../../../src/formats/tokens/count-pieces.ts";
import { createLongPieceCounter } from "../../../src/formats/tokens/merge.ts";
import { createOracle } from "./heap-oracle.ts";
import { pathologicalTexts } from "./pathological-texts.ts";
import { reference, tableNames, tiktoken } from "./reference.ts";
import { viewOf } from "./trained-table.ts";

describe.each(tableNames)("the %s counter on pathological texts", (name) => {
	const encoding = readEncoding(name);
	const oracle = createOracle(name);

	it.each(pathologicalTexts)("agrees with both references on %s", (_kind, text) => {
		const { count } = createCounter(encoding);
		for (const length of [1, 2, 3, 17, 127, 500, 900]) {
			for (const whole of [text(length), `${text(length)}.`, `x ${text(length)} a`]) {
				expect(count(whole)).toBe(tiktoken[name](whole));
				expect(count(whole)).toBe(reference[name](whole.toWellFormed()));
			}
		}
	});

	it.each(pathologicalTexts)("agrees with the oracle on 60 000 characters of %s", (_kind, text) => {
		const { count } = createCounter(encoding);
		const whole = text(60_000);
		expect(count(whole)).toBe(oracle.count(whole));
	});

	it.each(pathologicalTexts)("takes linear time on %s", (_kind, text) => {
		const counter = createLongPieceCounter(encoding.table);
		const countWhole = (whole: string) => {
			const bytes = Buffer.from(whole).toString("latin1");
			return counter.count(viewOf(bytes), 0, bytes.length);
		};
		countWhole(text(20_000));
		const few = counter.steps();
		countWhole(text(200_000));
		const many = counter.steps() - few;
		expect(many).toBeLessThanOrEqual(11 * few + 1000);
		expect(many).toBeLessThan(10 * 200_000);
	});
});

describe("the o200k_base counter on runs of millions", () => {
	const { count } = createCounter(readEncoding("o200k_base"));

	it.each([
		["letters", "a".repeat(8_000_000), 1_000_000],
		[
			"combining marks, on which the pattern as a regular expression runs out of stack",
			"\u0301".repeat(8_000_000),
			8_000_000,
		],
		["line feeds and a letter", `${"\n".repeat(8_000_000)}a`, 500_001],
	])("finishes on %s", (_kind, text, tokens) => {
		expect(count(text)).toBe(tokens);
	});
});
