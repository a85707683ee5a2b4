import { fc, test } from "@fast-check/vitest";
import { afterAll, describe, expect, it } from "vitest";
import { resultText } from "../../../src/engine/conversation/transcript.ts";
import { pairResults } from "../../../src/engine/conversation/turns.ts";
import { outputOfRecall } from "../../../src/engine/masking/fault-cost.ts";
import type { ReplayHistory } from "../../../src/engine/masking/history.ts";
import { replay } from "../../../src/engine/masking/replay.ts";
import { stringsIn } from "../../../src/engine/masking/uses.ts";
import { meterSchedule } from "../../../src/engine/replaying/bill.ts";
import { type CallCosts, meterFaults } from "../../../src/engine/replaying/faults.ts";
import { rivalSchedule } from "../../../src/engine/replaying/rivals.ts";
import { realTranscripts } from "../../real/real-transcripts.ts";
import { leastOfCases, numberOfCases } from "../../support/case-divisor.ts";
import { policyOf } from "../../support/policy-of.ts";
import { hasRealData } from "../../support/real-conversations.ts";
import { historyOf, turnsOf } from "../../support/replay-history.ts";
import { transcriptFrom } from "../../support/transcripts.ts";
import { plainFaults } from "./plain-faults.ts";

const costs: CallCosts = {
	costOf: ({ input, cached }) => cached * 0.1 + (input - cached) * 1.25,
	// Dearer in a large call, as some models are.
	costOfOutput: (tokens, input) => tokens * (input > 2_000 ? 7 : 5),
};
const never = (history: ReplayHistory) => new Float64Array(history.results.length).fill(Number.POSITIVE_INFINITY);
const seen = { faults: 0, schedules: 0 };

function compare(history: ReplayHistory, schedule: ArrayLike<number>): void {
	const found = meterFaults(history, schedule, costs);
	const plain = plainFaults(history, schedule, costs);
	expect(found.faults).toBe(plain.faults);
	expect(found.billed).toBeCloseTo(plain.billed, 3);
	seen.faults += found.faults;
	seen.schedules += 1;
}

describe("meterFaults", () => {
	const outputs = Array.from({ length: 6 }, (_, turn) => `src/part-${turn}.ts\n${"words of a file ".repeat(100)}`);
	const said = Array.from({ length: 6 }, (_, turn) => (turn === 5 ? "I go back to src/part-0.ts" : "On."));
	const history = historyOf(transcriptFrom(turnsOf(outputs, said)), policyOf({ mask: { window_turns: 1 } }));

	it("finds no fault and bills as before if nothing is masked", () => {
		const { billed: raw } = meterSchedule(history, never(history), policyOf({}).prices);
		expect(meterFaults(history, never(history), costs)).toEqual({ faults: 0, billed: expect.closeTo(raw, 6) });
	});

	it("bills a call more, its output and the recalled result for a string that only a masked result holds", () => {
		const schedule = never(history);
		schedule[0] = history.calls.at(-2) as number;
		const { billed: plain, calls } = meterSchedule(history, schedule, policyOf({}).prices);
		const { faults, billed } = meterFaults(history, schedule, costs);
		const input = calls[history.calls.length - 1]?.input ?? 0;
		const recalled = history.results[0]?.tokens ?? 0;
		expect(faults).toBe(1);
		expect(billed - plain).toBeCloseTo(input * 0.1 + recalled * 1.25 + outputOfRecall * 5, 6);
	});
});

const names = [
	"loadTable",
	"saveTable",
	"src/a.ts",
	"src/b.ts",
	"src/c.ts",
	"lib/d.py",
	"a whole line of twenty",
	"\n",
];
const words = fc.array(fc.constantFrom(...names), { maxLength: 6 });
const histories = fc
	.array(fc.tuple(words, words, fc.integer({ min: 0, max: 400 })), { minLength: 4, maxLength: 30 })
	.map((turns) => {
		const outputs = turns.map(([held, , length]) => `${held.join(" ")}\n${"x ".repeat(length)}`);
		const said = turns.map(([, words]) => words.join(" "));
		return historyOf(transcriptFrom(turnsOf(outputs, said)), policyOf({ mask: { window_turns: 1 } }));
	});
const moments = fc.array(fc.oneof(fc.constant(Number.POSITIVE_INFINITY), fc.integer({ min: 0, max: 3 })), {
	minLength: 30,
	maxLength: 30,
});

test.prop([histories, moments], { numRuns: numberOfCases(500) })(
	"agrees with requests that are written out",
	(history, delays) => {
		const { calls, results } = history;
		const schedule = results.map(({ message }, place) => {
			const next = calls.findIndex((call) => call > message);
			return next === -1 ? Number.POSITIVE_INFINITY : (calls[next + (delays[place] ?? 0)] ?? Number.POSITIVE_INFINITY);
		});
		compare(history, schedule);
	},
);

const numbersOfWords = fc.array(fc.option(fc.integer({ min: 0, max: 6 }), { freq: 2 }), {
	minLength: 30,
	maxLength: 30,
});

test.prop([histories, moments, numbersOfWords], { numRuns: numberOfCases(200) })(
	"agrees with requests that are written out where results are cut as they arrive",
	(whole, delays, kept) => {
		const schedule = whole.results.map(({ message }, place) => {
			const next = whole.calls.findIndex((call) => call > message);
			return whole.calls[next + (delays[place] ?? 0)] ?? Number.POSITIVE_INFINITY;
		});
		compare(cutTo(whole, kept), schedule);
	},
);

/** A history whose results keep so many words, and lose all lines. */
function cutTo(whole: ReplayHistory, kept: readonly (number | null)[]): ReplayHistory {
	let place = 0;
	const messages = whole.transcript.messages.map((message) => {
		const results = message.results.map((result) => {
			const words = kept[place++] ?? undefined;
			const texts = result.texts.map((one) => ({ ...one, text: one.text.split(" ").slice(0, words).join(" ") }));
			return words === undefined ? result : { ...result, texts };
		});
		return { ...message, results };
	});
	const transcript = { ...whole.transcript, messages };
	const cut = historyOf(transcript, policyOf({ mask: { window_turns: 1 } }));
	const left = pairResults(transcript).map(({ result }) => stringsIn(resultText(result)));
	return { ...cut, cut: { whole, hides: (at, kind, text) => left[at]?.[kind].has(text) === false } };
}

describe.skipIf(!hasRealData)("on real conversations", () => {
	const real = Array.from(realTranscripts())
		.filter(({ transcript: { messages } }, index) => index % 7 === 0 && messages.length > 40 && messages.length < 200)
		.map(({ transcript }) => historyOf(transcript, policyOf({})));

	it("agrees with requests that are written out", () => {
		expect(real.length).toBeGreaterThan(5);
		const { mask, prices } = policyOf({ mask: { window_turns: 3 } });
		for (const history of real) {
			compare(history, replay(history, { mask, prices }));
			compare(history, replay(history, { mask: { ...mask, cadence: "break_even" }, prices }));
			compare(history, rivalSchedule(history, { kind: "clear", trigger: 5_000, keep: 2, atLeast: 2_000 }));
			compare(history, rivalSchedule(history, { kind: "last", keep: 3, every: 4 }));
		}
	});
});

afterAll(() => {
	// The drawn histories alone have some 190.
	expect(seen.faults).toBeGreaterThan(leastOfCases(100));
	expect(seen.schedules).toBeGreaterThanOrEqual(numberOfCases(500));
});
