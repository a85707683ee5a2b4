import { fc, test } from "@fast-check/vitest";
import { afterAll, expect } from "vitest";
import { builtInStrategies } from "../../src/policy/names.ts";
import type { PolicyLayer } from "../../src/policy/schema.ts";
import { conversations } from "../support/conversation-arbitrary.ts";
import { bothRounds, check } from "./both-rounds.ts";

const seen = { composed: 0, summaryDropped: 0, maskedThenDropped: 0, truncated: 0, summaryAndDrops: 0, appended: 0 };

const cutAnswer = {
	choices: [{ index: 0, finish_reason: "length", message: { role: "assistant", content: "As far as it " } }],
};

const cutMessage = { role: "assistant", stop_reason: "max_tokens", content: [{ type: "text", text: "As far as it " }] };

const layers: fc.Arbitrary<PolicyLayer> = fc.record({
	compaction: fc.record({
		strategy: fc.constantFrom(...builtInStrategies),
		keep_last_messages: fc.integer({ min: 0, max: 6 }),
		keep_tool_groups: fc.integer({ min: 1, max: 5 }),
	}),
	guard: fc.record({
		ladder: fc.constantFrom(["truncate", "drop"] as const, ["drop"] as const, ["truncate", "mask", "drop"] as const),
		max_tool_result_chars: fc.constantFrom(300, 2_000),
		truncate_head_chars: fc.constantFrom(20, 200),
		truncate_tail_chars: fc.constantFrom(20, 200),
		pin_task: fc.boolean(),
	}),
	mask: fc.record({ window_turns: fc.integer({ min: 1, max: 4 }) }),
});

test.prop([conversations, layers, fc.integer({ min: 100, max: 3_000 }), fc.boolean()], { numRuns: 400 })(
	"one list of edits combines a compaction and the guard after it",
	async ({ format, document }, layer, contextWindow, isCut) => {
		const before = JSON.parse(JSON.stringify(document));
		// Behind calls that nobody answered nothing can be appended.
		if (isCut) (Array.isArray(before) ? before : before.messages).push({ role: "user", content: "And now?" });
		const answer = format === "openai-chat" ? cutAnswer : cutMessage;
		const outcome = await bothRounds({
			document: before,
			layer,
			contextWindow,
			lastResponse: isCut ? answer : undefined,
		});
		check(before, outcome);
		const { report, edits } = outcome;
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
	expect(seen.composed).toBeGreaterThan(75);
	expect(seen.summaryDropped).toBeGreaterThan(10);
	expect(seen.summaryAndDrops).toBeGreaterThan(15);
	expect(seen.maskedThenDropped).toBeGreaterThan(25);
	expect(seen.truncated).toBeGreaterThan(25);
	expect(seen.appended).toBeGreaterThan(50);
});
