import { test } from "@fast-check/vitest";
import { afterAll, expect } from "vitest";
import { leastOfCases, numberOfCases } from "../support/case-divisor.ts";
import { outputOf } from "../support/sample-text.ts";
import { openaiMessages, toolTurn, user } from "../support/script.ts";
import { checkBothRounds, type RoundsCase, roundsCases } from "./both-rounds.ts";

const seen = { composed: 0, summaryDropped: 0, maskedThenDropped: 0, truncated: 0, summaryAndDrops: 0, appended: 0 };

/** Here the guard drops the summary too, which is so in some 27 of 900 random cases. */
const dropsSummary: RoundsCase = [
	{
		format: "openai-chat",
		document: openaiMessages(user("Go."), toolTurn("a", outputOf("a", 60)), user("And now? ".repeat(24))),
	},
	{
		compaction: { strategy: "llm-summary", keep_last_messages: 1, keep_tool_groups: 1 },
		guard: {
			ladder: ["drop"],
			max_tool_result_chars: 2_000,
			truncate_head_chars: 20,
			truncate_tail_chars: 20,
			pin_task: false,
		},
		mask: { window_turns: 1 },
	},
	100,
	false,
];

test.prop([roundsCases], { numRuns: numberOfCases(900), examples: [[dropsSummary]] })(
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
	expect(seen.composed).toBeGreaterThan(leastOfCases(75));
	expect(seen.summaryDropped).toBeGreaterThan(leastOfCases(6));
	expect(seen.summaryAndDrops).toBeGreaterThan(leastOfCases(15));
	expect(seen.maskedThenDropped).toBeGreaterThan(leastOfCases(25));
	expect(seen.truncated).toBeGreaterThan(leastOfCases(25));
	expect(seen.appended).toBeGreaterThan(leastOfCases(50));
});
