import { test } from "@fast-check/vitest";
import { afterAll, expect } from "vitest";
import { leastOfCases, numberOfCases } from "../support/case-divisor.ts";
import { checkBothRounds, roundsCases } from "./both-rounds.ts";

const seen = { composed: 0, summaryDropped: 0, maskedThenDropped: 0, truncated: 0, summaryAndDrops: 0, appended: 0 };

test.prop([roundsCases], { numRuns: numberOfCases(900) })(
	"one list of edits combines a compaction and the guard after it",
	async (one) => {
		const { report, edits } = await checkBothRounds(one);
		const result = report.compaction && "strategy" in report.compaction ? report.compaction.result : "none";
		if (result !== "hidden" && result !== "summarised") return;
		seen.composed += report.steps.length > 0 ? 1 : 0;
		const dropped = report.steps.some(({ step }) => step === "drop");
		const held = JSON.stringify(edits.map(({ replacement, value }) => [replacement, value]));
		if (result === "summarised" && !held.includes("Mend the parser.")) seen.summaryDropped += 1;
		if (result === "summarised" && dropped) seen.summaryAndDrops += 1;
		if (result === "hidden" && dropped) seen.maskedThenDropped += 1;
		seen.truncated += edits.filter(({ reason }) => reason === "truncate").length;
		seen.appended += edits.filter(({ reason }) => reason === "append").length;
	},
);

afterAll(() => {
	process.stderr.write(`${JSON.stringify(seen)}\n`);
	expect(seen.composed).toBeGreaterThan(leastOfCases(75));
	// Some 27 in all cases; a sixth of them may by chance hold none.
	expect(seen.summaryDropped).toBeGreaterThanOrEqual(leastOfCases(6));
	expect(seen.summaryAndDrops).toBeGreaterThan(leastOfCases(15));
	expect(seen.maskedThenDropped).toBeGreaterThan(leastOfCases(25));
	expect(seen.truncated).toBeGreaterThan(leastOfCases(25));
	expect(seen.appended).toBeGreaterThan(leastOfCases(50));
});
