import { describe, expect, it } from "vitest";
import { createLongPieceCounter } from "../../../src/formats/tokens/merge.ts";
import { numberOfCases } from "../../support/case-divisor.ts";
import { createDraw, pick } from "./random-text.ts";
import { mergePlainly, tableOf, trainedTokens, viewOf } from "./trained-table.ts";

describe("createLongPieceCounter", () => {
	it("agrees with plain merging on trained tables with frequent backtracking", () => {
		const draw = createDraw(3);
		let steppedBack = 0;
		for (let run = 0; run < numberOfCases(400); run++) {
			// NUL is the token of rank 0.
			const letters = pick(["a", "ab", "abc", "\0a"], draw);
			const trained = trainedTokens(draw, letters, 1 + draw(60));
			// One behind the last, so that a trained one at the end is no special case.
			const tokens = [...trained, "zz"];
			const counter = createLongPieceCounter(tableOf(tokens));
			for (let pieces = 0; pieces < 10; pieces++) {
				const piece = Array.from({ length: 1 + draw(120) }, () => pick([...letters], draw)).join("");
				const before = counter.steps();
				const counted = counter.count(viewOf(piece), 0, piece.length);
				expect([tokens, piece, counted]).toEqual([tokens, piece, mergePlainly(piece, tokens)]);
				if (counter.steps() - before > counted) steppedBack++;
			}
		}
		expect(steppedBack).toBeGreaterThan(numberOfCases(500));
	});

	it("takes the longest of tokens that begin alike, of every length", () => {
		const letters = Array.from({ length: 60 }, (_, index) => String.fromCharCode(48 + index)).join("");
		const begun = Array.from({ length: 59 }, (_, index) => letters.slice(0, index + 2));
		const doubled = Array.from({ length: 7 }, (_, index) => "~".repeat(2 << index));
		const tokens = [...begun.slice(0, 40), ...doubled, ...begun.slice(40), "0~"];
		const counter = createLongPieceCounter(tableOf(tokens));
		for (let length = 1; length <= 60; length++) {
			const part = letters.slice(0, length);
			for (const piece of [part, part + part, `${part}~${part}`, `~~${part}0~`, "~".repeat(length * 5), `x${part}`]) {
				expect(counter.count(viewOf(piece), 0, piece.length), piece).toBe(mergePlainly(piece, tokens));
				// Other bytes behind the piece are not of it.
				expect(counter.count(viewOf(`~${piece}${letters}`), 1, piece.length), piece).toBe(mergePlainly(piece, tokens));
			}
		}
	});

	it("takes few steps for each byte", () => {
		const counter = createLongPieceCounter(tableOf(["aa", "aaaa", "ab", "ba", "aaab"]));
		counter.count(viewOf("aab".repeat(400)), 0, 1_200);
		expect(counter.steps()).toBe(1_598);
	});

	it("refuses a table in which no merges make a token that it has to take apart", () => {
		const counter = createLongPieceCounter(tableOf(["abc", "cd"]));
		expect(() => counter.count(viewOf("abcd"), 0, 4)).toThrow(/No merges make token 256/);
	});

	it("counts within a longer text, and again after a long piece", () => {
		const counter = createLongPieceCounter(tableOf(["ab", "abab"]));
		expect(counter.count(viewOf("xxababxx"), 2, 4)).toBe(1);
		expect(counter.count(viewOf("ab".repeat(100_001)), 0, 200_002)).toBe(50_001);
		expect(counter.count(viewOf("abababb"), 0, 7)).toBe(3);
	});
});
