import { fc, it } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import { drawnCalls } from "../../src/pages/drawn-calls.ts";

const sizes = fc.array(fc.nat(50), { maxLength: 400, size: "max" });

describe("the calls that a plot is drawn from", () => {
	let thinned = 0;

	it.prop([sizes, fc.integer({ min: 2, max: 60 })])(
		"are few enough, in order, and keep the ends and peaks",
		(of, most) => {
			const drawn = drawnCalls(of, most);
			if (of.length <= most) {
				expect(drawn).toEqual(of.map((_, call) => call));
				return;
			}
			thinned += 1;
			expect(drawn.length).toBeLessThanOrEqual(most);
			expect(drawn).toEqual([...new Set(drawn)].sort((a, b) => a - b));
			expect([drawn[0], drawn.at(-1)]).toEqual([0, of.length - 1]);
			if (most < 4) return;
			const shown = drawn.map((call) => of[call] ?? Number.NaN);
			expect([Math.min(...shown), Math.max(...shown)]).toEqual([Math.min(...of), Math.max(...of)]);
		},
	);

	it("were too many often enough", () => {
		expect(thinned).toBeGreaterThan(20);
	});
});
