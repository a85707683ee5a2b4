import { describe, expect, it } from "vitest";
import { createLongPieceCounter } from "../../src/tokens/merge.ts";
import { numberOfCases } from "../support/case-divisor.ts";
import { createDraw, pick } from "./random-text.ts";
import { mergePlainly, tableOf, trainedTokens, viewOf } from "./trained-table.ts";

describe("createLongPieceCounter", () => {
	it("agrees with plain merging on trained tables with frequent backtracking", () => {
		const draw = createDraw(3);
		let steppedBack = 0;
		for (let run = 0; run < numberOfCases(400); run++) {
			const letters = pick(["a", "ab", "abc"], draw);
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

	it("counts within a longer text, and again after a long piece", () => {
		const counter = createLongPieceCounter(tableOf(["ab", "abab"]));
		expect(counter.count(viewOf("xxababxx"), 2, 4)).toBe(1);
		expect(counter.count(viewOf("ab".repeat(100_001)), 0, 200_002)).toBe(50_001);
		expect(counter.count(viewOf("abababb"), 0, 7)).toBe(3);
	});
});
