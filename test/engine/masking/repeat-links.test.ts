import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type RepeatLink, startRepeatLinks } from "../../../src/engine/masking/repeat-links.ts";

/** A file of 100 tokens, read again in part (40 of them) and then nearly whole (90): what the later two keep is 10 each. */
const links: readonly RepeatLink[] = [
	{ place: 1, source: 0, tokens: 40 },
	{ place: 2, source: 0, tokens: 90 },
];
const saves = [100, 10, 10];

function started(...arriving: readonly number[]) {
	const view = startRepeatLinks(links, saves);
	const added = arriving.map((place) => view.arrive(place));
	return { view, added };
}

describe("lines that stand in an earlier result", () => {
	it("cost nothing as long as that result is in view, and masking it saves less by what would come back", () => {
		const { view, added } = started(0, 1, 2);
		expect(added).toEqual([0, 0, 0]);
		expect(view.isHeld(0)).toBe(true);
		expect([...view.saves]).toEqual([10, 10, 10]);
	});

	it("come back when it is masked: the next result shows them, as far as it has them", () => {
		const { view } = started(0, 1, 2);
		expect(view.mask(0)).toEqual({
			gone: 100,
			back: [
				[1, 40],
				[2, 50],
			],
		});
		expect(view.isHeld(0)).toBe(false);
		expect(view.isHeld(1)).toBe(true);
	});

	it("arrive whole after it was masked", () => {
		const { view } = started(0);
		expect(view.mask(0)).toEqual({ gone: 100, back: [] });
		expect(view.arrive(1)).toBe(40);
		expect([...view.saves]).toEqual([100, 50, 10]);
	});

	it("are never counted twice: what is in view after any order of masks is at most what the results have", () => {
		let checked = 0;
		fc.assert(
			fc.property(fc.shuffledSubarray([0, 1, 2]), fc.nat(3), (order, late) => {
				const { view } = started(...[0, 1, 2].slice(0, Math.max(late, 1)));
				let total = [100, 10, 10].slice(0, Math.max(late, 1)).reduce((sum, one) => sum + one, 0);
				for (const place of order.filter((one) => one < Math.max(late, 1))) {
					const { gone, back } = view.mask(place);
					total += back.reduce((sum, [, tokens]) => sum + tokens, 0) - gone;
					checked += 1;
					expect(total).toBeGreaterThanOrEqual(0);
					expect(total).toBeLessThanOrEqual(200);
				}
			}),
			{ numRuns: 300 },
		);
		expect(checked).toBeGreaterThan(60);
	});
});
