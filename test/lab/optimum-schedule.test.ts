import { fc, test } from "@fast-check/vitest";
import { afterAll, expect } from "vitest";
import { meterSchedule } from "../../src/engine/replaying/bill.ts";
import { readConversation } from "../../src/formats/detect.ts";
import { leastOfCases, numberOfCases } from "../support/case-divisor.ts";
import { conversations } from "../support/conversation-arbitrary.ts";
import { policyOf } from "../support/policy-of.ts";
import { historyOf, turnsOf } from "../support/replay-history.ts";
import { timings, withTimes } from "../support/times.ts";
import { transcriptFrom } from "../support/transcripts.ts";
import { optimalSchedule } from "./optimum.ts";
import { plainOptimum } from "./plain-optimum.ts";

const seen = { advances: 0, several: 0, nothing: 0, messy: 0, cold: 0 };

const prices = fc.constantFrom(
	{ cache_read: 0.1, cache_write: 1.25 },
	{ cache_read: 0.5, cache_write: 1 },
	{ cache_read: 1, cache_write: 1 },
);

const windows = fc.integer({ min: 0, max: 4 });

const sizes = fc.array(fc.integer({ min: 0, max: 3_000 }), { minLength: 1, maxLength: 30 });

test.prop([sizes, windows, prices, timings], { numRuns: numberOfCases(300) })(
	"the schedule costs as much as the optimum, and masks complete turns outside the window only, oldest first",
	(lengths, windowTurns, given, timing) => {
		const policy = policyOf({ mask: { window_turns: windowTurns }, prices: given });
		const outputs = lengths.map((length) => "word ".repeat(length / 5));
		const history = historyOf(withTimes(transcriptFrom(turnsOf(outputs)), timing), policy);
		seen.cold += history.calls.filter((call) => history.cold[call] === 1).length;
		const schedule = optimalSchedule(history, windowTurns, policy.prices);
		const { billed } = meterSchedule(history, schedule, policy.prices);
		expect(billed).toBeCloseTo(plainOptimum(history, windowTurns, policy.prices), 6);
		const moments: number[] = [];
		history.results.forEach(({ turn = 0, saves }, place) => {
			const moment = schedule[place] ?? Number.NaN;
			if (saves === 0) expect(moment).toBe(Number.POSITIVE_INFINITY);
			else moments.push(moment);
			if (moment === Number.POSITIVE_INFINITY) return;
			expect(history.calls).toContain(moment);
			const turns = history.opensTurn.slice(0, moment).reduce((sum, opens) => sum + opens, 0);
			expect(turn).toBeLessThan(turns - windowTurns);
		});
		expect(moments).toEqual(moments.toSorted((a, b) => a - b));
		const advances = new Set(moments.filter(Number.isFinite)).size;
		seen.advances += advances;
		seen.several += advances > 1 ? 1 : 0;
		seen.nothing += advances === 0 ? 1 : 0;
	},
);

test.prop([conversations, windows, prices, timings], { numRuns: numberOfCases(200) })(
	"the same holds in conversations of any shape",
	({ document }, windowTurns, given, timing) => {
		const policy = policyOf({ mask: { window_turns: windowTurns, keep_errors: false }, prices: given });
		const history = historyOf(withTimes(readConversation(document).transcript, timing), policy);
		const schedule = optimalSchedule(history, windowTurns, policy.prices);
		const bill = meterSchedule(history, schedule, policy.prices);
		expect(bill.billed).toBeCloseTo(plainOptimum(history, windowTurns, policy.prices), 6);
		seen.messy += bill.maskedResults;
	},
);

afterAll(() => {
	expect(seen.advances).toBeGreaterThan(leastOfCases(150));
	expect(seen.several).toBeGreaterThan(leastOfCases(40));
	expect(seen.nothing).toBeGreaterThan(leastOfCases(40));
	expect(seen.cold).toBeGreaterThan(leastOfCases(200));
	expect(seen.messy).toBeGreaterThan(leastOfCases(150));
});
