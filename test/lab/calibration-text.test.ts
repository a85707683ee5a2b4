import { describe, expect, it } from "vitest";
import type { CalibratedFile, CalibrationFigures } from "./calibrate.ts";
import { calibrationText } from "./calibration-text.ts";

const none = { calls: 0, tokens: 0, billed: 0 };
const figures: CalibrationFigures = {
	conversations: 1,
	llm_calls: 40,
	read_tokens: 1_000_000,
	predicted_read_tokens: 1_012_345,
	read_difference: 0.012345,
	written_tokens: 50_000,
	predicted_written_tokens: 37_655,
	written_difference: -0.2469,
	billed: 162_500,
	predicted_billed: 148_303,
	billed_difference: 0,
	causes: {
		granularity: none,
		compaction: none,
		model_change: none,
		restart: none,
		pause: { calls: 1, tokens: -655, billed: 753 },
		reasoning: none,
		fork: none,
		prompt: { calls: 1, tokens: 13_000, billed: -14_950 },
		provider: none,
		surplus: none,
	},
};
const file: CalibratedFile = { file: `${"deep/".repeat(20)}a.jsonl`, ...figures, has_forks: false, differences: [] };
const report = {
	total: figures,
	without_forks: figures,
	without_unexplained: figures,
	within_5_percent: { read: 1, written: 0, billed: 1 },
	files: [file],
};

describe("the text of a calibration", () => {
	it("shows sums, differences and causes", () => {
		expect(calibrationText(report, false).split("\n")).toEqual([
			"                           sessions  calls       read  predicted       ±  written  predicted        ±  bill ±",
			"without forks                     1     40  1 000 000  1 012 345  +1.2 %   50 000     37 655  −24.7 %   0.0 %",
			"of these, explained calls         1     40  1 000 000  1 012 345  +1.2 %   50 000     37 655  −24.7 %   0.0 %",
			"all                               1     40  1 000 000  1 012 345  +1.2 %   50 000     37 655  −24.7 %   0.0 %",
			"",
			"cause                   calls  predicted − read  of all read  of the bill",
			"granularity                 0                 0        0.0 %        0.0 %",
			"compaction                  0                 0        0.0 %        0.0 %",
			"model_change                0                 0        0.0 %        0.0 %",
			"restart                     0                 0        0.0 %        0.0 %",
			"pause                       1              −655       −0.1 %       +0.5 %",
			"reasoning                   0                 0        0.0 %        0.0 %",
			"fork (unexplained)          0                 0        0.0 %        0.0 %",
			"prompt (unexplained)        1           +13 000       +1.3 %       −9.2 %",
			"provider (unexplained)      0                 0        0.0 %        0.0 %",
			"surplus (unexplained)       0                 0        0.0 %        0.0 %",
			"",
			"within 5 %: 1 of 1 sessions in tokens read, 0 in tokens written, 1 in the bill",
			"Tokens are the provider's. read: from its cache; written: all others; bill: of input, at the prices of replay.",
			"",
		]);
	});

	it("has a line for each file, cut at its start", () => {
		expect(calibrationText(report, true)).toMatch(/^…\S*deep\/a\.jsonl +1 +40 /m);
	});
});
