import { fc, test } from "@fast-check/vitest";
import { afterAll, describe, expect, it } from "vitest";
import { toolTurns } from "../../../src/engine/conversation/turns.ts";
import type { ReplayHistory } from "../../../src/engine/masking/history.ts";
import { leastBills } from "../../../src/engine/replaying/bound.ts";
import { type CallCosts, meterFaults } from "../../../src/engine/replaying/faults.ts";
import { readConversation } from "../../../src/formats/detect.ts";
import { realTranscripts } from "../../real/real-transcripts.ts";
import { leastOfCases, numberOfCases } from "../../support/case-divisor.ts";
import { conversations } from "../../support/conversation-arbitrary.ts";
import { policyOf } from "../../support/policy-of.ts";
import { hasRealData } from "../../support/real-conversations.ts";
import { historyOf, turnsOf } from "../../support/replay-history.ts";
import { type Timing, timings, withTimes } from "../../support/times.ts";
import { transcriptFrom } from "../../support/transcripts.ts";

const prices = { read: 0.1, write: 1.25, output: 0.1, fault: 1 };
const costs: CallCosts = {
	costOf: ({ input, cached }) => cached * prices.read + (input - cached) * prices.write,
	costOfOutput: (tokens) => tokens * prices.output,
};

/** Every schedule that shows each result to at least one call. */
function* schedules({ results, calls }: ReplayHistory, first = 0): Generator<number[]> {
	const result = results[first];
	if (!result) return yield [];
	const shown = calls.find((call) => call > result.message) ?? Number.POSITIVE_INFINITY;
	const moments = result.saves > 0 ? calls.filter((call) => call > shown) : [];
	for (const later of schedules({ results, calls } as ReplayHistory, first + 1)) {
		for (const moment of [...moments, Number.POSITIVE_INFINITY]) yield [moment, ...later];
	}
}

/** The cheapest bill with faults of the schedules that have at most so many faults. */
function cheapestByFaults(history: ReplayHistory): number[] {
	const least: number[] = [];
	for (const schedule of schedules(history)) {
		const { faults, billed } = meterFaults(history, schedule, costs);
		for (let most = faults; most < history.calls.length; most += 1) {
			least[most] = Math.min(billed, least[most] ?? Number.POSITIVE_INFINITY);
		}
	}
	return least;
}

const names = ["loadTable", "saveTable", "src/a.ts", "src/b.ts", "src/c.ts", "lib/d.py"];
const words = fc.array(fc.constantFrom(...names), { maxLength: 3 });
const turns = fc.array(fc.tuple(words, words, fc.integer({ min: 0, max: 3_000 })), { minLength: 3, maxLength: 7 });
const penalties = [0, 50, 100, 200, 400, 800, 1_600, 3_200, 10_000];
const seen = { faulty: 0, masked: 0, saved: 0, atMost: 0 };

/**
 * Here a fault is cheaper than none, which is so in some 16 of 250 random cases: the cache has expired before each call, and
 * only the last of seven turns uses what the first one's large result holds.
 */
const faultPays: [[string[], string[], number][], Timing] = [
	Array.from({ length: 7 }, (_, turn) => [
		turn === 0 ? ["loadTable"] : [],
		turn === 6 ? ["loadTable"] : [],
		turn === 0 ? 3_000 : 0,
	]),
	{ gaps: [301], lifetimes: [300] },
];

test.prop([turns, timings], { numRuns: numberOfCases(250), examples: [faultPays] })(
	"is below the bill of each schedule, and near the least",
	(given, timing) => {
		const outputs = given.map(([held, , length]) => `${held.join(" ")}\n${"x ".repeat(length)}`);
		const said = given.map(([, used]) => used.join(" "));
		const transcript = withTimes(transcriptFrom(turnsOf(outputs, said)), timing);
		const history = historyOf(transcript, policyOf({ mask: { window_turns: 1, keep_errors: false } }));
		const never = history.results.map(() => Number.POSITIVE_INFINITY);
		const { billed: raw } = meterFaults(history, never, costs);
		const sums = leastBills(history, prices, penalties);
		const least = cheapestByFaults(history);
		least.forEach((billed, faults) => {
			const bound = Math.max(...sums.map((sum, index) => sum - faults * (penalties[index] as number)));
			expect(bound).toBeLessThanOrEqual(billed + 1e-6 * raw);
			seen.saved += raw - billed;
			seen.atMost += raw - bound;
		});
		if ((least.at(-1) as number) < (least[0] as number)) seen.faulty += 1;
	},
);

test.prop([conversations, timings, fc.infiniteStream(fc.integer({ min: 0, max: 4 }))], { numRuns: numberOfCases(200) })(
	"is below the bill of any schedule of a conversation of any shape",
	({ document }, timing, delays) => {
		const transcript = withTimes(readConversation(document).transcript, timing);
		const history = historyOf(transcript, policyOf({ mask: { window_turns: 1, keep_errors: false } }));
		const sums = leastBills(history, prices, penalties);
		const schedule = history.results.map(({ message, saves }) => {
			const later = history.calls.filter((call) => call > message).slice(1);
			const delay = delays.next().value;
			return saves > 0 && delay > 0 ? (later[delay - 1] ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY;
		});
		for (const one of [history, withCuts(history)]) {
			const { faults, billed } = meterFaults(one, schedule, costs);
			(one === history ? sums : leastBills(one, prices, penalties)).forEach((sum, index) => {
				expect(sum).toBeLessThanOrEqual((billed + faults * (penalties[index] as number)) * (1 + 1e-9));
			});
		}
		if (schedule.some(Number.isFinite)) seen.masked += 1;
	},
);

/** The same, as if every second result had lost a string in two as it arrived, and no token. */
function withCuts(whole: ReplayHistory): ReplayHistory {
	return { ...whole, cut: { whole, hides: (place, _, text) => place % 2 === 0 && text.length % 2 === 0 } };
}

describe.skipIf(!hasRealData)("on real conversations of 20 tool turns or more", () => {
	it("is at most 12 points of raw below a simple schedule with hindsight", () => {
		let [raw, bound, simple] = [0, 0, 0];
		for (const { transcript } of realTranscripts()) {
			if (toolTurns(transcript).length < 20) continue;
			const history = historyOf(transcript, policyOf({ preset: "balanced" }));
			const schedule = untilLastUse(history);
			expect(meterFaults(history, schedule, costs).faults).toBe(0);
			const never = history.results.map(() => Number.POSITIVE_INFINITY);
			const { billed } = meterFaults(history, never, costs);
			raw += billed;
			simple += Math.min(billed, meterFaults(history, schedule, costs).billed);
			bound += Math.max(...leastBills(history, prices, [1e6]));
		}
		expect(bound).toBeLessThan(simple);
		expect(simple - bound).toBeLessThan(0.12 * raw);
	});
});

/** Masks each result after the last call that takes something from it; of several that hold it, from the latest. */
function untilLastUse({ calls, results, uses }: ReplayHistory): number[] {
	const last = results.map(({ message }) => calls.findIndex((call) => call > message));
	for (const ofKind of [uses().identifiers, uses().lines]) {
		ofKind.forEach((ofMessage, message) => {
			const call = calls.findLastIndex((one) => one <= message);
			for (const { holders } of ofMessage) {
				const holder = holders.at(-1) as number;
				last[holder] = Math.max(last[holder] as number, call);
			}
		});
	}
	return results.map(({ saves }, place) => {
		const call = last[place] as number;
		return saves > 0 && call >= 0 ? (calls[call + 1] ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY;
	});
}

afterAll(() => {
	expect(seen.masked).toBeGreaterThan(leastOfCases(50));
	expect(seen.faulty).toBeGreaterThan(leastOfCases(4));
	// Of the most that the bound allows, the best schedule saves nearly all: 0.99 to 1 of it in 14 runs.
	expect(seen.saved).toBeGreaterThan(0.98 * seen.atMost);
});
