import { fc, test } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { packPieces, splitInTwo } from "../../../src/engine/compaction/split-pieces.ts";

const length = (piece: string) => piece.length;
const pieces = fc.array(fc.string({ maxLength: 40 }), { maxLength: 12 });

describe("splitting between pieces", () => {
	it("in two halves of about the same size", () => {
		expect(splitInTwo(["aaaa", "b", "c", "d", "e"])).toEqual([["aaaa"], ["b", "c", "d", "e"]]);
		expect(splitInTwo(["a", "b", "cccc"])).toEqual([["a", "b"], ["cccc"]]);
		expect(splitInTwo(["", ""])).toEqual([[""], [""]]);
		expect(splitInTwo(["a"])).toBeUndefined();
		expect(splitInTwo([])).toBeUndefined();
	});

	test.prop([pieces])("two halves hold all, in order, none is empty, and neither is much larger than half", (all) => {
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
		"parts within the budget, in order, none left out",
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
