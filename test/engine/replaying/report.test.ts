import { describe, expect, it } from "vitest";
import {
	addTotals,
	figuresOf,
	type PolicyTotals,
	type ReplayedSession,
	reportOfSessions,
} from "../../../src/engine/replaying/report.ts";

const uses = (used: number, inView: number, inDigest: number) => ({ used, inView, inDigest });

const one: PolicyTotals = {
	conversations: 1,
	calls: 40,
	inputTokens: 1_000.4,
	cachedTokens: 700.6,
	billed: 500,
	outputTokens: 60.5,
	billedOutput: 300,
	faults: 3,
	billedForFaults: 20,
	billedWithFaults: 530,
	raw: { inputTokens: 2_000, billed: 1_000, billedOutput: 400 },
	bound: [
		{ penalty: 0, bill: 410 },
		{ penalty: 10, bill: 450 },
		{ penalty: 50, bill: 460 },
	],
	worst: 0.8,
	worstWithFaults: 0.9,
	peakTokens: 99.5,
	priceStep: { callsOver: 1, rawCallsOver: 8, conversations: 1, billedWithFaults: 200, rawBilled: 800 },
	callsOverWindow: 2,
	callsOfKnownWindow: 30,
	maskedResults: 12,
	repeatedTokens: 41.6,
	identifiers: uses(10, 6, 2),
	lines: uses(4, 1, 3),
	reasoning: { recorded: 0, leftOut: 0, redone: 0 },
	pauses: {
		timedCalls: 0,
		expiredCalls: 0,
		billedExpired: 0,
		billedForever: 530,
		billedKeptWarm: 530,
		billedAtEnd: 0,
		pings: 0,
	},
};

const paused = {
	timedCalls: 30,
	expiredCalls: 2,
	billedExpired: 100,
	billedForever: 500,
	billedKeptWarm: 520,
	billedAtEnd: 10,
	pings: 3,
};

describe("figuresOf", () => {
	it("has each figure of the totals", () => {
		expect(figuresOf("window:8", one)).toEqual({
			policy: "window:8",
			conversations: 1,
			llm_calls: 40,
			input_tokens: 1_000,
			cached_tokens: 701,
			output_tokens: 61,
			billed: 500,
			ratio_to_raw: 0.5,
			worst_ratio_to_raw: 0.8,
			faults_per_100_calls: 7.5,
			billed_with_faults: 530,
			ratio_with_faults: 0.53,
			// The largest of 410, 450 - 3 × 10 and 460 - 3 × 50.
			bound_with_faults: 0.42,
			worst_ratio_with_faults: 0.9,
			fault_cost_to_raw: 0.02,
			billed_output: 300,
			output_share: 300 / 830,
			ratio_with_output: 830 / 1_400,
			average_context_ratio: 1_000.4 / 2_000,
			peak_context_tokens: 100,
			calls_over_window: 2,
			calls_of_known_window: 30,
			price_step: { calls_over: 1, raw_calls_over: 8, conversations: 1, ratio_with_faults: 0.25 },
			masked_tool_results: 12,
			repeated_tokens: 42,
			recall: { identifiers: 0.6, lines: 0.25 },
			recall_in_digests: { identifiers: 0.2, lines: 0.75 },
		});
	});

	it("has the figures of pauses where times are on record", () => {
		const { pauses } = figuresOf("balanced", { ...one, pauses: paused });
		expect(pauses).toEqual({
			timed_calls: 30,
			expired_calls: 2,
			expired_share_of_calls: 0.05,
			expired_share_of_bill: 0.2,
			ratio_never_expired: 0.5,
			ratio_kept_warm: 0.52,
			ratio_kept_warm_open: 0.53,
			pings: 3,
		});
	});

	it("takes a ratio to nothing for 1, and has no share of nothing", () => {
		const nothing: PolicyTotals = {
			...one,
			calls: 0,
			billed: 0,
			faults: 0,
			raw: { inputTokens: 0, billed: 0, billedOutput: 0 },
			worst: Number.NEGATIVE_INFINITY,
			worstWithFaults: Number.NEGATIVE_INFINITY,
			identifiers: uses(0, 0, 0),
			lines: uses(0, 0, 0),
		};
		const none = { identifiers: null, lines: null };
		expect(figuresOf("raw", nothing)).toMatchObject({
			ratio_to_raw: 1,
			worst_ratio_to_raw: 1,
			worst_ratio_with_faults: 1,
			faults_per_100_calls: 0,
			ratio_with_faults: 1,
			bound_with_faults: 1,
			fault_cost_to_raw: 0,
			ratio_with_output: 1,
			average_context_ratio: 1,
			recall: none,
			recall_in_digests: none,
		});
	});
});

describe("addTotals", () => {
	it("adds up sums, and keeps the largest of other figures", () => {
		const other: PolicyTotals = {
			...one,
			billed: 7,
			raw: { inputTokens: 1, billed: 2, billedOutput: 3 },
			bound: [
				{ penalty: 0, bill: 1 },
				{ penalty: 10, bill: 2 },
			],
			worst: 1.5,
			worstWithFaults: 0.1,
			peakTokens: 3,
			identifiers: uses(1, 1, 1),
			lines: uses(2, 2, 2),
			reasoning: { recorded: 40, leftOut: 10, redone: 2 },
			pauses: { ...paused, billedForever: 420, billedKeptWarm: 460 },
		};
		expect(addTotals(one, other)).toEqual({
			conversations: 2,
			calls: 80,
			inputTokens: 2_000.8,
			cachedTokens: 1_401.2,
			billed: 507,
			outputTokens: 121,
			billedOutput: 600,
			faults: 6,
			billedForFaults: 40,
			billedWithFaults: 1_060,
			raw: { inputTokens: 2_001, billed: 1_002, billedOutput: 403 },
			bound: [
				{ penalty: 0, bill: 411 },
				{ penalty: 10, bill: 452 },
				// That of the other at a penalty of 10 or more.
				{ penalty: 50, bill: 462 },
			],
			worst: 1.5,
			worstWithFaults: 0.9,
			peakTokens: 99.5,
			priceStep: { callsOver: 2, rawCallsOver: 16, conversations: 2, billedWithFaults: 400, rawBilled: 1_600 },
			callsOverWindow: 4,
			callsOfKnownWindow: 60,
			maskedResults: 24,
			repeatedTokens: 83.2,
			identifiers: uses(11, 7, 3),
			lines: uses(6, 3, 5),
			reasoning: { recorded: 40, leftOut: 10, redone: 2 },
			pauses: {
				timedCalls: 30,
				expiredCalls: 2,
				billedExpired: 100,
				billedForever: 950,
				billedKeptWarm: 990,
				billedAtEnd: 10,
				pings: 3,
			},
		});
		expect(figuresOf("balanced", other).reasoning).toEqual({
			recorded_tokens: 40,
			left_out_tokens: 10,
			left_out_share: 0.25,
			redone_tokens: 2,
		});
		expect(addTotals(other, one)).toMatchObject({ worst: 1.5, worstWithFaults: 0.9, peakTokens: 99.5 });
	});
});

describe("the report of sessions of different models", () => {
	const sized = {
		masked_tool_results: 1,
		tool_chars_before: 4,
		tool_chars_after: 3,
		tokens_before: 2,
		tokens_after: 1,
	};
	const session = (model: string | null, dollars: number | undefined): ReplayedSession => ({
		file: `${model}`,
		masking: sized,
		totals: [["window:8", one]],
		pricing: { model, cache_read: 0.1, cache_write: 1.25, output: 5, steps: [] },
		dollars,
	});

	it("adds up dollars where they are known of all, so that a dear model counts more", () => {
		const cheap = { ...one, billed: 900, billedWithFaults: 1_000 };
		const sessions = [session("dear", 0.01), { ...session("cheap", 0.001), totals: [["window:8", cheap] as const] }];
		const { billed_in, policies, files } = reportOfSessions(sessions);
		expect(billed_in).toBe("us_dollars");
		expect(files.map(({ policies }) => policies[0]?.billed)).toEqual([5, 0.9]);
		expect(policies[0]).toMatchObject({ billed: 5.9, ratio_to_raw: 5.9 / 11, faults_per_100_calls: 7.5 });
	});

	it("has the same ratios in dollars as in input tokens, also for pauses and price steps", () => {
		const ratiosOf = (dollars: number | undefined) => {
			const [figures] = reportOfSessions([
				{ ...session("some", dollars), totals: [["window:8", { ...one, pauses: paused }]] },
			]).policies;
			return { pauses: figures?.pauses, price_step: figures?.price_step, share: figures?.output_share };
		};
		const [inDollars, inTokens] = [ratiosOf(0.25), ratiosOf(undefined)];
		expect(inDollars).toEqual(inTokens);
		expect(inDollars.pauses).toBeDefined();
	});

	it("bounds the sum from below, by penalties that are the same in dollars", () => {
		const { policies } = reportOfSessions([session("dear", 0.01), session("cheap", 0.001)]);
		// Of the cheap one the bounds at 0, 0.1 and 0.5 dollars are 0.41, and 0.46 from 0.05 on.
		const bounds = [4.1 + 0.41, 4.5 + 0.46 - 0.1 * 6, 4.6 + 0.46 - 0.5 * 6];
		expect(policies[0]?.bound_with_faults).toBeCloseTo(Math.max(...bounds) / 11, 9);
	});

	it("adds up prices of input tokens where a model has no known dollars, and says which prices counted", () => {
		const { billed_in, policies, prices, files } = reportOfSessions([session("dear", 0.01), session(null, undefined)]);
		expect(billed_in).toBe("input_tokens");
		expect(policies[0]?.billed).toBe(1_000);
		expect(prices).toMatchObject([
			{ model: "dear", conversations: 1 },
			{ model: null, conversations: 1 },
		]);
		expect(files.map(({ model }) => model)).toEqual(["dear", null]);
		expect(reportOfSessions([])).toMatchObject({ billed_in: "input_tokens", policies: [], files: [] });
	});
});
