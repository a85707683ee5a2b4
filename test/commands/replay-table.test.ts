import { describe, expect, it } from "vitest";
import { modelsText, replayText } from "../../src/commands/replay-table.ts";
import type { BilledUnit, PolicyFigures, ReplayedFile, ReplayReport } from "../../src/engine/replaying/report.ts";
import { pricingFigures, ratesOfPrices } from "../../src/operations/replay-rates.ts";
import { policyOf } from "../support/policy-of.ts";

const figures: PolicyFigures = {
	policy: "window:8",
	conversations: 2,
	llm_calls: 1_234,
	input_tokens: 5_000_000,
	cached_tokens: 4_000_000,
	output_tokens: 200_000,
	billed: 1_650_000.4,
	ratio_to_raw: 0.79849,
	worst_ratio_to_raw: 1.0455,
	faults_per_100_calls: 3.456,
	billed_with_faults: 1_800_000,
	ratio_with_faults: 0.87113,
	bound_with_faults: 0.6125,
	worst_ratio_with_faults: 1.1005,
	fault_cost_to_raw: 0.07264,
	billed_output: 1_000_000,
	output_share: 0.364,
	ratio_with_output: 0.9126,
	average_context_ratio: 0.5,
	peak_context_tokens: 98_765,
	calls_over_window: 12,
	calls_of_known_window: 1_000,
	masked_tool_results: 321,
	repeated_tokens: 0,
	recall: { identifiers: 0.9126, lines: 0.5 },
	recall_in_digests: { identifiers: 0.034, lines: 0.1 },
};
const empty: PolicyFigures = {
	...figures,
	policy: "raw",
	calls_over_window: 0,
	calls_of_known_window: 0,
	recall: { identifiers: null, lines: null },
	recall_in_digests: { identifiers: null, lines: null },
};

const prices = [{ ...pricingFigures(ratesOfPrices(policyOf().prices)), conversations: 2 }];
const masking = {
	masked_tool_results: 0,
	tool_chars_before: 0,
	tool_chars_after: 0,
	tokens_before: 0,
	tokens_after: 0,
};
const reportOf = (policies: readonly PolicyFigures[], billed_in: BilledUnit = "input_tokens"): ReplayReport => {
	return { ...masking, billed_in, prices, policies, files: [] };
};
const tablesOf = (policies: readonly PolicyFigures[], unit?: BilledUnit) =>
	replayText(reportOf(policies, unit), { eachFile: false, all: true });

describe("the table of policies", () => {
	it("shows each figure under its heading", () => {
		expect(tablesOf([empty, figures]).split("\n").slice(4, -7)).toEqual([
			"                                   faults    with     at           with    its",
			"policy       billed  × raw  worst  in 100  faults  least  worst  output  share",
			"raw       1 650 000  0.798  1.046    3.46   0.871  0.613  1.101   0.913   0.36",
			"window:8  1 650 000  0.798  1.046    3.46   0.871  0.613  1.101   0.913   0.36",
			"",
			"          context            over                                 + in",
			"            × raw    peak  window  masked  identifiers  lines  digests",
			"raw         0.500  98 765       –     321            –      –        –",
			"window:8    0.500  98 765      12     321        0.913  0.500    0.034",
			"",
		]);
	});

	it("shows what repeats leave out, in a column of its own", () => {
		const lines = tablesOf([empty, { ...figures, policy: "repeats", repeated_tokens: 12_345 }]).split("\n");
		const columns = lines.slice(9, 13).map((line) => line.slice(-9).trim());
		expect(columns).toEqual(["repeats", "left out", "0", "12 345"]);
		expect(lines.join("\n")).toContain("repeats: tokens that new results do not bring again");
	});

	it("shows the pauses of sessions in which the cache expired", () => {
		const pauses = {
			timed_calls: 1_000,
			expired_calls: 21,
			expired_share_of_calls: 0.021,
			expired_share_of_bill: 0.1581,
			ratio_never_expired: 0.7,
			ratio_kept_warm: 0.7736,
			ratio_kept_warm_open: 0.7876,
			pings: 40,
		};
		const text = tablesOf([empty, { ...figures, pauses }]);
		expect(text.split("\n").slice(13, 18)).toEqual([
			"",
			"                   of the    never   kept  stays",
			"          expired    bill  expired   warm   open",
			"raw             0       –        –      –      –",
			"window:8       21   0.158    0.700  0.774  0.788",
		]);
		expect(text).toContain("\nexpired: calls after a pause");
		const lasting = { ...pauses, expired_calls: 0 };
		expect(tablesOf([{ ...figures, pauses: lasting }])).not.toContain("expired");
	});

	it.each([
		[0.012345, "$0.0123"],
		[1.5, "$1.50"],
		[1234.56, "$1235"],
	])("shows %d dollars as %s", (billed, shown) => {
		expect(tablesOf([{ ...figures, billed }], "us_dollars")).toContain(` ${shown} `);
	});

	it("fits 120 columns with large numbers and with long paths cut at their start", () => {
		const large = { billed: 123_456_789, peak_context_tokens: 1_234_567, masked_tool_results: 123_456 };
		const text = tablesOf([{ ...figures, ...large, policy: `${"deep/".repeat(20)}my.toml` }]);
		expect(text).toMatch(/^….*deep\/my\.toml /m);
		expect(
			Math.max(
				...text
					.split("\n")
					.slice(1)
					.map((line) => line.length),
			),
		).toBeLessThanOrEqual(120);
	});
});

describe("what decides", () => {
	const balanced = { ...figures, policy: "balanced", ratio_with_faults: 0.7226, faults_per_100_calls: 0.75 };
	const raw = { ...empty, ratio_with_faults: 1, worst_ratio_with_faults: 1, faults_per_100_calls: 0 };
	const textOf = (policies: readonly PolicyFigures[], unit?: BilledUnit) =>
		replayText(
			{
				...reportOf(policies, unit),
				files: ["a", "b", "c", "d"].map((file) => ({ ...masking, file, model: null, policies })),
			},
			{ eachFile: false, all: false },
		);

	it("is a sentence and five columns", () => {
		expect(textOf([raw, figures, balanced]).split("\n")).toEqual([
			"With balanced the input of these 4 sessions would have cost 28 % less; 0.75 of 100 calls would have read a result again.",
			"",
			"4 conversations, 1 234 LLM calls",
			"",
			"policy         cost   saved  faults    worst",
			"raw       1 800 000   0.0 %    0.00    0.0 %",
			"window:8  1 800 000  12.9 %    3.46  −10.1 %",
			"balanced  1 800 000  27.7 %    0.75  −10.1 %",
			"",
			expect.stringMatching(/^cost: input, in prices of an input token, /),
			expect.stringMatching(/^with one more call for each fault/),
			expect.stringMatching(/^faults: .*--all$/),
			"",
		]);
	});

	it("is the cheapest policy where balanced is not compared, and none where nothing is edited", () => {
		const dear = { ...figures, policy: "dear", ratio_with_faults: 1.204 };
		expect(textOf([raw, dear])).toMatch(/^With dear .* 20 % more; 3\.46 of/);
		expect(textOf([raw, dear, figures])).toMatch(/^With window:8 .* 13 % less;/);
		expect(textOf([raw])).toMatch(/^4 conversations/);
	});
});

describe("the text for people", () => {
	const fileOf = (file: string): ReplayedFile => ({ ...masking, file, model: null, policies: [figures] });
	const textOf = (files: readonly string[], eachFile = false) =>
		replayText({ ...reportOf([figures]), files: files.map(fileOf) }, { eachFile, all: true });
	const tables = (text: string) => text.match(/^policy /gm)?.length;

	it("names a single file, counts several, and describes the billed tokens", () => {
		expect(textOf(["a.json"])).toMatch(/^a\.json, 1 234 LLM calls\n/m);
		expect(textOf(["a.json", "b.json"])).toMatch(/^2 conversations, 1 234 LLM calls\n/m);
		expect(textOf(["a.json"])).toMatch(
			/^billed: input, in prices of an input token, .*: read 0\.1, write 1\.25, output 5$/m,
		);
	});

	it("names the models that price the conversations, and says why the sum is not in dollars", () => {
		const model = { model: "claude-haiku-5.5", cache_read: 0.1, cache_write: 1.25, output: 5, conversations: 3 };
		const mixed = [...prices, { ...model, steps: [{ over: 100_000, input: 5, output: 4 }] }];
		const text = replayText({ ...reportOf([figures]), prices: mixed }, { eachFile: false, all: true });
		expect(text).toContain("in prices of an input token of each conversation's model, since some dollars are unknown");
		expect(text).toMatch(
			/^ {2}3 × claude-haiku-5\.5: .*; over 100 000 tokens 5 ×, output 4 ×\n {2}2 × unknown model, by \[prices\]/m,
		);
	});

	it("shows the calls over a price step, model by model", () => {
		const price_step = { calls_over: 7, raw_calls_over: 90, conversations: 2, ratio_with_faults: 0.4321 };
		const reports = [reportOf([figures]), reportOf([{ ...figures, price_step }], "us_dollars")];
		const text = modelsText(
			reports.map((report) => ({ model: "some-model", report })),
			{ all: true },
		);
		expect(tables(text)).toBe(2);
		expect(text).toMatch(/^some-model: read 0\.1, /m);
		expect(text).toMatch(/share +step +faults\nwindow:8 .* 0\.36 +7 +0\.432\n/);
	});

	it("has a table for each file when they are few or requested", () => {
		expect(tables(textOf(["a"]))).toBe(1);
		expect(tables(textOf(["a", "b"]))).toBe(3);
		expect(tables(textOf(["a", "b", "c", "d"]))).toBe(1);
		expect(tables(textOf(["a", "b", "c", "d"], true))).toBe(5);
	});
});
