import { fc, test } from "@fast-check/vitest";
import { afterAll, expect, it } from "vitest";
import type { ReplayHistory } from "../../src/engine/masking/history.ts";
import { replay } from "../../src/engine/masking/replay.ts";
import { meterSchedule } from "../../src/engine/replaying/bill.ts";
import { answer, plainHistory, tool, user } from "../engine/replaying/plain-history.ts";
import { leastOfCases, numberOfCases } from "../support/case-divisor.ts";
import { policyOf } from "../support/policy-of.ts";
import { historyOf, turnsOf } from "../support/replay-history.ts";
import { timings, withTimes } from "../support/times.ts";
import { transcriptFrom } from "../support/transcripts.ts";
import { optimalSchedule } from "./optimum.ts";

const seen = { better: 0, schedules: 0 };

/** The bill of each schedule that advances the boundary at some calls, to whatever turns the window allows there. */
function billsOf(history: ReplayHistory, windowTurns: number, prices: { cache_read: number; cache_write: number }) {
	const policy = policyOf({ prices });
	const bills: number[] = [];
	const advance = (call: number, boundaries: readonly number[]) => {
		if (call === history.calls.length) {
			const schedule = history.results.map(({ turn = 0, saves }) => {
				const first = saves === 0 ? -1 : boundaries.findIndex((boundary) => boundary > turn);
				return first === -1 ? Number.POSITIVE_INFINITY : (history.calls[first] ?? 0);
			});
			bills.push(meterSchedule(history, schedule, policy.prices).billed);
			return;
		}
		const turns = history.opensTurn.slice(0, history.calls[call]).reduce((sum, opens) => sum + opens, 0);
		const least = boundaries.at(-1) ?? 0;
		advance(call + 1, [...boundaries, least]);
		for (let next = least + 1; next <= turns - windowTurns; next += 1) advance(call + 1, [...boundaries, next]);
	};
	advance(0, []);
	return bills;
}

const sizes = fc.array(fc.integer({ min: 0, max: 3_000 }), { minLength: 2, maxLength: 7 });

const prices = fc.constantFrom(
	{ cache_read: 0.1, cache_write: 1.25 },
	{ cache_read: 0.5, cache_write: 1 },
	// No provider's, but one may ask for them.
	{ cache_read: 1, cache_write: 0.5 },
);

// A boundary that masks nothing more would seem to save in the example, since writing costs less than reading.
test.prop([sizes, fc.integer({ min: 0, max: 3 }), prices, timings], {
	numRuns: numberOfCases(150),
	examples: [
		[[0, 325, 0, 95, 0, 0], 2, { cache_read: 1, cache_write: 0.5 }, { gaps: [4000, 2, 2], lifetimes: [undefined] }],
	],
})(
	"the optimum is the cheapest schedule of the boundary, and none of ours is cheaper",
	(lengths, windowTurns, prices, timing) => {
		const policy = policyOf({ mask: { window_turns: windowTurns }, prices });
		const outputs = lengths.map((length) => "word ".repeat(length / 5));
		const history = historyOf(withTimes(transcriptFrom(turnsOf(outputs)), timing), policy);
		const bills = billsOf(history, windowTurns, prices);
		const optimum = meterSchedule(history, optimalSchedule(history, windowTurns, policy.prices), policy.prices).billed;
		expect(optimum).toBeCloseTo(Math.min(...bills), 6);
		seen.schedules += bills.length;
		seen.better += optimum < (bills[0] ?? 0) - 1e-6 ? 1 : 0;
		for (const cadence of ["every_turn", "stride"] as const) {
			const mask = { ...policy.mask, cadence, stride_turns: 2 };
			const bill = meterSchedule(history, replay(history, { mask, prices: policy.prices }), policy.prices);
			expect(bill.billed).toBeGreaterThanOrEqual(optimum - 1e-6);
		}
	},
);

it("masks nothing where that saves nothing", () => {
	const history = historyOf(transcriptFrom(turnsOf(["word ".repeat(400), "word ".repeat(400), "Done."])), policyOf());
	const { prices } = policyOf();
	const never = history.results.map(() => Number.POSITIVE_INFINITY);
	expect(Array.from(optimalSchedule(history, 1, { ...prices, cache_read: 0, cache_write: 0 }))).toEqual(never);
	expect(Array.from(optimalSchedule(history, 1, prices))).not.toEqual(never);
});

it("keeps in the cache a large result that cannot be masked, before the first one that can", () => {
	const turns = [tool([5_000, 0]), tool([1_000, 900]), ...Array.from({ length: 4 }, () => tool([10, 0]))];
	const history = plainHistory([user(10), ...turns.flatMap((results) => [answer(), results]), answer()]);
	const prices = { ...policyOf().prices, cache_read: 1, cache_write: 2 };
	// To mask the second result costs less than 200 in the fourth call, at message 7, and saves 900 in each from it on.
	expect(Array.from(optimalSchedule(history, 1, prices)).slice(0, 2)).toEqual([Number.POSITIVE_INFINITY, 7]);
});

it("advances last where several moments cost the same", () => {
	const turns = [tool([1_100, 1_000]), tool([1_000, 900]), ...Array.from({ length: 6 }, () => tool([10, 0]))];
	const history = plainHistory([user(10), ...turns.flatMap((results) => [answer(), results]), answer()]);
	const prices = { ...policyOf().prices, cache_read: 1, cache_write: 2 };
	const billOf = (first: number, second: number) => {
		const never = Array.from({ length: 6 }, () => Number.POSITIVE_INFINITY);
		return meterSchedule(history, [first, second, ...never], prices).billed;
	};
	// The fourth call, at message 7, may mask the first turn, and the fifth the second one too.
	expect(billOf(7, 9)).toBe(billOf(9, 9));
	expect(Array.from(optimalSchedule(history, 2, prices)).slice(0, 2)).toEqual([9, 9]);
});

afterAll(() => {
	expect(seen.schedules).toBeGreaterThan(leastOfCases(1_000));
	expect(seen.better).toBeGreaterThan(leastOfCases(10));
});
