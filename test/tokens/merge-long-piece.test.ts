import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mergeLongPiece } from "../../src/tokens/merge-long-piece.ts";
import { createMinHeap } from "../../src/tokens/min-heap.ts";
import { createRankTable } from "../../src/tokens/rank-table.ts";

describe("mergeLongPiece", () => {
	it("merges the lowest rank first, and the leftmost among equals", () => {
		const ranks = createRankTable(["a", "b", "c", "bc", "ab", "aa"]);
		expect(mergeLongPiece("abc", ranks)).toBe(2);
		expect(mergeLongPiece("aaa", ranks)).toBe(2);
		expect(mergeLongPiece("aaaa", ranks)).toBe(2);
		expect(mergeLongPiece("b", ranks)).toBe(1);
		expect(mergeLongPiece("", ranks)).toBe(0);
	});

	it("works on bytes, not characters", () => {
		const ranks = createRankTable([[0xc3], [0xa9], "é"]);
		expect(mergeLongPiece("éé", ranks)).toBe(2);
		expect(mergeLongPiece("é漢", ranks)).toBe(4);
	});

	it("agrees with the plain algorithm on made-up tables", () => {
		const token = fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength: 2, maxLength: 5 });
		fc.assert(
			fc.property(
				fc.uniqueArray(token, { maxLength: 20 }),
				fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 60 }),
				(tokens, piece) => {
					const ranks = createRankTable(tokens);
					expect(mergeLongPiece(piece, ranks)).toBe(mergePlainly(piece, ranks));
				},
			),
			{ numRuns: 2000 },
		);
	});
});

describe("createMinHeap", () => {
	it("gives numbers back in order, past its first capacity", () => {
		fc.assert(
			fc.property(fc.array(fc.nat(), { maxLength: 100 }), (numbers) => {
				const heap = createMinHeap(1);
				for (const number of numbers) heap.push(number);
				const popped = numbers.map(() => heap.pop());
				expect(popped).toEqual([...numbers].sort((left, right) => left - right));
				expect(heap.pop()).toBeUndefined();
			}),
		);
	});
});

function mergePlainly(piece: string, ranks: ReadonlyMap<string, number>): number {
	const parts = [...piece];
	for (;;) {
		let best = Number.POSITIVE_INFINITY;
		let at = -1;
		for (let index = 0; index + 1 < parts.length; index++) {
			const rank = ranks.get(`${parts[index]}${parts[index + 1]}`) ?? Number.POSITIVE_INFINITY;
			if (rank < best) {
				best = rank;
				at = index;
			}
		}
		if (at < 0) return parts.length;
		parts.splice(at, 2, `${parts[at]}${parts[at + 1]}`);
	}
}
