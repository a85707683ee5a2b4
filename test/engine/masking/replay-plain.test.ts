import { fc, test } from "@fast-check/vitest";
import { afterAll, describe, expect, it } from "vitest";
import type { Transcript } from "../../../src/engine/conversation/transcript.ts";
import { toolTurns } from "../../../src/engine/conversation/turns.ts";
import { replay } from "../../../src/engine/masking/replay.ts";
import { findStale } from "../../../src/engine/masking/staleness.ts";
import { findUses } from "../../../src/engine/masking/uses.ts";
import type { MaskPolicy, Prices } from "../../../src/engine/policy/schema.ts";
import { readConversation } from "../../../src/formats/detect.ts";
import { realTranscripts } from "../../real/real-transcripts.ts";
import { isWhole } from "../../support/breadth.ts";
import { leastOfCases, numberOfCases } from "../../support/case-divisor.ts";
import { conversations } from "../../support/conversation-arbitrary.ts";
import { policyOf } from "../../support/policy-of.ts";
import { hasRealData } from "../../support/real-conversations.ts";
import { historyOf, turnsOf } from "../../support/replay-history.ts";
import { timings, withTimes } from "../../support/times.ts";
import { transcriptFrom } from "../../support/transcripts.ts";
import { plainReplay } from "./plain-replay.ts";
import { plainUses } from "./plain-uses.ts";

const seen = { taken: 0, touches: 0, fresh: 0, masked: 0, kept: 0, moments: 0, cold: 0 };

function compareUses(transcript: Transcript): void {
	const found = findUses(transcript);
	expect(found).toEqual(plainUses(transcript));
	seen.taken += found.identifiers.flat().length + found.lines.flat().length;
	seen.touches += found.touches.flat().length;
	seen.fresh += found.fresh.filter((count) => count > 0).length;
}

function compareReplays(
	transcript: Transcript,
	mask: Partial<MaskPolicy>,
	budget?: number,
	input = 1,
	steps: Prices["steps"] = [],
): void {
	const policy = policyOf({ mask, prices: { input, steps } });
	const history = historyOf(transcript, policy);
	const schedule = Array.from(replay(history, { mask: policy.mask, prices: policy.prices, budget }));
	seen.cold += history.cold.reduce((sum, one) => sum + one, 0);
	const given = { history, uses: findUses(transcript), stale: findStale(transcript, history.masked) };
	expect(schedule).toEqual(plainReplay(given, policy, { budget }));
	const masked = schedule.filter(Number.isFinite);
	seen.masked += masked.length;
	seen.kept += schedule.length - masked.length;
	seen.moments += new Set(masked).size;
}

const masks: fc.Arbitrary<Partial<MaskPolicy>> = fc.record({
	window_turns: fc.integer({ min: 1, max: 4 }),
	keep_errors: fc.boolean(),
	error_detection: fc.constantFrom("words", "structural"),
	keep_last_k_per_tool: fc.constantFrom(null, 0, 1, 3),
	tools: fc.constantFrom({}, { ls: "never" }, { read: "always", ls: "always" }, { read: { keep_last: 2 } } as const),
	selection: fc.constantFrom("age", "use"),
	thrift: fc.constantFrom("low", "medium", "high"),
	cadence: fc.constantFrom("every_turn", "stride", "break_even"),
	stride_turns: fc.integer({ min: 1, max: 6 }),
});

const budgets = fc.constantFrom(undefined, 500, 2_000);

const priceSteps = fc.constantFrom(
	[],
	[{ over: 700, input: 5, output: 5 }],
	[400, 1_500].map((over) => ({ over, input: 2, output: 1.5 })),
);
/** At a low price of an input token, results of these small conversations go although they may be needed again. */
const inputPrices = fc.constantFrom(1, 0.02, 0.002);

/** Names and lines of a small pool, so that results hold the same ones and answers come back to them. */
const words = fc.array(
	fc.constantFrom("loadTable", "saveTable", "src/a.ts", "src/file-1.ts", "a whole line of twenty", "\n", "filler text"),
	{ maxLength: 8 },
);

const agents = fc
	.array(fc.tuple(words, words, fc.integer({ min: 0, max: 400 })), { minLength: 2, maxLength: 24 })
	.map((turns) =>
		transcriptFrom(
			turnsOf(
				turns.map(([held, , length]) => `${held.join(" ")}\n${"x".repeat(length)}`),
				turns.map(([, said]) => said.join(" ")),
			),
		),
	);

const untimed = fc.oneof(
	agents,
	conversations.map(({ document }) => readConversation(document).transcript),
);

const transcripts = fc
	.tuple(untimed, fc.option(timings, { nil: undefined }))
	.map(([transcript, timing]) => (timing ? withTimes(transcript, timing) : transcript));

test.prop([transcripts], { numRuns: numberOfCases(300) })("the uses are the same as in a plain search", compareUses);

test.prop([transcripts, masks, budgets, inputPrices, priceSteps], { numRuns: numberOfCases(400) })(
	"a replay equals a selection computed from scratch at each moment",
	compareReplays,
);

describe.skipIf(!hasRealData)("on real conversations", () => {
	const real = Array.from(realTranscripts())
		.filter(({ transcript: { messages } }, index) => index % 9 === 0 && messages.length < (isWhole ? 150 : 70))
		.map(({ transcript }) => transcript)
		.filter((transcript) => toolTurns(transcript).length >= 5);

	it("finds the same uses", () => {
		expect(real.length).toBeGreaterThan(5);
		for (const transcript of real) compareUses(transcript);
	});

	it.each([
		{ selection: "use", cadence: "break_even", window_turns: 5, error_detection: "structural" },
		{ selection: "use", cadence: "every_turn", window_turns: 3 },
		{ selection: "age", cadence: "break_even", window_turns: 4 },
		{ selection: "age", cadence: "stride", window_turns: 4, stride_turns: 3, keep_last_k_per_tool: 2 },
	] as const)("replays the same: %o", (mask) => {
		for (const transcript of real) compareReplays(transcript, mask);
	});
});

afterAll(() => {
	expect(seen.taken).toBeGreaterThan(leastOfCases(100));
	expect(seen.touches).toBeGreaterThan(leastOfCases(200));
	expect(seen.fresh).toBeGreaterThan(leastOfCases(100));
	expect(seen.masked).toBeGreaterThan(leastOfCases(200));
	expect(seen.kept).toBeGreaterThan(leastOfCases(200));
	expect(seen.moments).toBeGreaterThan(leastOfCases(100));
	expect(seen.cold).toBeGreaterThan(leastOfCases(200));
});
