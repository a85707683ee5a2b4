import { describe, expect, it } from "vitest";
import { replayText } from "../../src/commands/replay-table.ts";
import { ratesOfPrices } from "../../src/operations/replay-rates.ts";
import type { PolicyFigures, ReplayedFile } from "../../src/replaying/report.ts";
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
	ratio_with_output: 0.9126,
	average_context_ratio: 0.5,
	peak_context_tokens: 98_765,
	calls_over_window: 12,
	calls_of_known_window: 1_000,
	masked_tool_results: 321,
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

const rates = ratesOfPrices(policyOf().prices);
const masking = {
	masked_tool_results: 0,
	tool_chars_before: 0,
	tool_chars_after: 0,
	tokens_before: 0,
	tokens_after: 0,
};
const tablesOf = (policies: readonly PolicyFigures[], unit = rates.unit) =>
	replayText({ ...masking, policies, files: [] }, { rates: { ...rates, unit }, eachFile: false });

describe("the table of policies", () => {
	it("shows each figure under its heading", () => {
		expect(tablesOf([empty, figures]).split("\n").slice(2, -7)).toEqual([
			"                                   faults    with     at           with",
			"policy       billed  × raw  worst  in 100  faults  least  worst  output",
			"raw       1 650 000  0.798  1.046    3.46   0.871  0.613  1.101   0.913",
			"window:8  1 650 000  0.798  1.046    3.46   0.871  0.613  1.101   0.913",
			"",
			"          context            over                                 + in",
			"            × raw    peak  window  masked  identifiers  lines  digests",
			"raw         0.500  98 765       –     321            –      –        –",
			"window:8    0.500  98 765      12     321        0.913  0.500    0.034",
			"",
		]);
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
		expect(text.split("\n").slice(11, 16)).toEqual([
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
		expect(text).toMatch(/^…deep\/deep\/deep\/deep\/my\.toml /m);
		expect(Math.max(...text.split("\n").map((line) => line.length))).toBeLessThanOrEqual(120);
	});
});

describe("the text for people", () => {
	const fileOf = (file: string): ReplayedFile => ({ ...masking, file, policies: [figures] });
	const textOf = (files: readonly string[], eachFile = false) =>
		replayText({ ...masking, policies: [figures], files: files.map(fileOf) }, { rates, eachFile });
	const tables = (text: string) => text.match(/^policy /gm)?.length;

	it("names a single file, counts several, and describes the billed tokens", () => {
		expect(textOf(["a.json"])).toMatch(/^a\.json, 1 234 LLM calls\n/);
		expect(textOf(["a.json", "b.json"])).toMatch(/^2 conversations, 1 234 LLM calls\n/);
		expect(textOf(["a.json"])).toMatch(/^billed: in prices of an input token, 0\.1 for .* 1\.25 for /m);
	});

	it("has a table for each file when they are few or requested", () => {
		expect(tables(textOf(["a"]))).toBe(1);
		expect(tables(textOf(["a", "b"]))).toBe(3);
		expect(tables(textOf(["a", "b", "c", "d"]))).toBe(1);
		expect(tables(textOf(["a", "b", "c", "d"], true))).toBe(5);
	});
});
