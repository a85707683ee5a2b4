import { describe, expect, it } from "vitest";
import { meanInterval, pairedShares, type SolvedPairs, wilson } from "../../../src/engine/trials/intervals.ts";

describe("wilson", () => {
	it.each([
		// Newcombe, “Two-sided confidence intervals for the single proportion”, Statistics in Medicine 17 (1998), table I.
		[81, 263, 0.2553, 0.3662],
		[15, 148, 0.0624, 0.1605],
		[0, 20, 0, 0.1611],
		[1, 29, 0.0061, 0.1718],
	])("is that of the literature for %d of %d", (successes, all, low, high) => {
		const interval = wilson(successes, all);
		expect(interval?.low).toBeCloseTo(low, 4);
		expect(interval?.high).toBeCloseTo(high, 4);
	});

	it("is unknown of nothing", () => expect(wilson(0, 0)).toBeNull());
});

describe("pairedShares", () => {
	it.each([
		// Newcombe's own example of method 10, and the airway data of Fagerland, Lydersen and Laake, Statistics in Medicine 33 (2014).
		[{ both: 36, first: 12, second: 2, neither: 0 }, 0.0569, 0.3404],
		[{ both: 1, first: 1, second: 7, neither: 12 }, -0.5069, -0.0256],
	])("is that of the literature for %o", (pairs, low, high) => {
		const interval = pairedShares(pairs);
		expect(interval?.low).toBeCloseTo(low, 4);
		expect(interval?.high).toBeCloseTo(high, 4);
	});

	it("covers the true difference in at least 93 of 100 samples, by the exact probabilities of all samples", () => {
		const worlds = [
			{ chances: [0.4, 0.1, 0.1, 0.4], pairs: 9 },
			{ chances: [0.55, 0.25, 0.1, 0.1], pairs: 12 },
			{ chances: [0.85, 0.05, 0.05, 0.05], pairs: 18 },
		] as const;
		for (const { chances, pairs } of worlds) {
			const truth = chances[1] - chances[2];
			let covered = 0;
			for (const { counts, chance } of samples(pairs, chances)) {
				const interval = pairedShares(counts);
				if (interval && interval.low <= truth && truth <= interval.high) covered += chance;
			}
			expect(covered).toBeGreaterThan(0.93);
		}
	});

	it("has a width where no pair differs, and is unknown of nothing", () => {
		const interval = pairedShares({ both: 3, first: 0, second: 0, neither: 0 });
		expect(interval?.low).toBeLessThan(-0.4);
		expect(interval?.high).toBeGreaterThan(0.4);
		expect(pairedShares({ both: 0, first: 0, second: 0, neither: 0 })).toBeNull();
	});
});

describe("meanInterval", () => {
	it("is Student's, for few values and for many", () => {
		// Student's t of 2 and of 19 degrees of freedom: 4.3027 and 2.0930 in every table.
		expect(meanInterval([1, 2, 3])?.high).toBeCloseTo(2 + 4.3027 / Math.sqrt(3), 3);
		const many = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? -1 : 1));
		expect(meanInterval(many)?.high).toBeCloseTo((2.093 * Math.sqrt(20 / 19)) / Math.sqrt(20), 4);
	});

	it("is unknown of one value", () => expect(meanInterval([5])).toBeNull());
});

/** Every sample of so many pairs, with its probability. */
function* samples(
	pairs: number,
	[a, b, c, d]: readonly [number, number, number, number],
): Generator<{ readonly counts: SolvedPairs; readonly chance: number }> {
	for (let both = 0; both <= pairs; both += 1) {
		for (let first = 0; first <= pairs - both; first += 1) {
			for (let second = 0; second <= pairs - both - first; second += 1) {
				const neither = pairs - both - first - second;
				const ways = choose(pairs, both) * choose(pairs - both, first) * choose(pairs - both - first, second);
				yield {
					counts: { both, first, second, neither },
					chance: ways * a ** both * b ** first * c ** second * d ** neither,
				};
			}
		}
	}
}

function choose(all: number, some: number): number {
	let ways = 1;
	for (let index = 1; index <= some; index += 1) ways = (ways * (all - some + index)) / index;
	return ways;
}
