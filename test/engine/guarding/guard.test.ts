import { describe, expect, it } from "vitest";
import { planGuard } from "../../../src/engine/guarding/guard.ts";
import type { PolicyLayer } from "../../../src/engine/policy/schema.ts";
import { wordings } from "../../../src/engine/policy/wordings.ts";
import { policyOf } from "../../support/policy-of.ts";
import { roughCount } from "../../support/rough-count.ts";
import { outputOf, textOfLength } from "../../support/sample-text.ts";
import { assistant, openaiMessages, toolTurn, user } from "../../support/script.ts";
import { transcriptFrom } from "../../support/transcripts.ts";

type GuardPlan = ReturnType<typeof planGuard>;

const transcript = transcriptFrom(
	openaiMessages(
		user("The task."),
		toolTurn("large", textOfLength(20_000)),
		...Array.from({ length: 10 }, (_, index) => toolTurn(`call_${index}`, outputOf(`${index}`))),
		assistant("Newest."),
	),
);

const limits = { max_tool_result_chars: 5_000, truncate_head_chars: 500, truncate_tail_chars: 500 };

function plan(budget: number, guard: PolicyLayer["guard"] = {}): GuardPlan {
	return planGuard({
		transcript,
		policy: policyOf({ mask: { window_turns: 4 }, guard: { ...limits, ...guard } }),
		budget,
		meter: { countTokens: roughCount, messageOverhead: 4 },
		wording: { ...wordings(policyOf()), placeholder: "[masked {tool_call_id}]", guardMarker: "[cut]" },
		isPlaceholder: (text) => text.startsWith("[masked"),
	});
}

const stepNames = ({ steps }: GuardPlan) => steps.map(({ step }) => step);

describe("planGuard", () => {
	it("takes the ladder's steps in order, as many as it needs", () => {
		expect(stepNames(plan(100_000))).toEqual(["truncate"]);
		expect(stepNames(plan(5_000))).toEqual(["truncate"]);
		expect(stepNames(plan(3_500))).toEqual(["truncate", "mask"]);
		expect(stepNames(plan(1_000))).toEqual(["truncate", "mask", "drop"]);
	});

	it("with `over_budget` it cuts nothing while everything fits", () => {
		expect(plan(100_000, { truncate_when: "over_budget" }).plan).toEqual([]);
		expect(stepNames(plan(5_000, { truncate_when: "over_budget" }))).toEqual(["truncate"]);
	});

	it("follows another order of the ladder", () => {
		expect(stepNames(plan(2_000, { ladder: ["drop", "mask"] }))).toEqual(["drop"]);
		expect(stepNames(plan(9_000, { ladder: ["drop", "truncate"], truncate_when: "over_budget" }))).toEqual([]);
		expect(stepNames(plan(3_500, { ladder: ["mask", "truncate"] }))).toEqual(["mask"]);
	});

	it("with a target it masks only until the rest after truncation fits", () => {
		expect(stepNames(plan(5_000, { target_ratio: 0.7 }))).not.toContain("mask");
		expect(stepNames(plan(3_500, { target_ratio: 0.7 }))).toContain("mask");
	});

	it("drops down to the target, and no further than exactly there", () => {
		const guard = { ladder: ["drop" as const], keep_last_messages: 1 };
		const total = plan(0, { ladder: [] }).tokensAfter;
		const outcome = plan(total - 1, { ...guard, target_ratio: 0.5 });
		expect(outcome.plan.length).toBeGreaterThan(0);
		expect(outcome.tokensAfter).toBeLessThanOrEqual(0.5 * (total - 1));
		// One of these budgets times the ratio is exactly the number of tokens, in spite of rounding.
		const budgets = Array.from({ length: 20 }, (_, less) => total - 1 - less);
		const budget = budgets.find((one) => one * (outcome.tokensAfter / one) === outcome.tokensAfter) ?? 0;
		const ratio = outcome.tokensAfter / budget;
		expect(plan(budget, { ...guard, target_ratio: ratio }).plan).toEqual(outcome.plan);
	});

	it("an empty ladder only measures", () => {
		const outcome = plan(10, { ladder: [] });
		expect(outcome).toMatchObject({ plan: [], fits: false, tokensAfter: outcome.measurement.total.tokens });
	});

	it("reports the tokens after each step, and no step increases them", () => {
		const { steps, tokensAfter, measurement } = plan(1_000);
		const sizes = [measurement.total.tokens, ...steps.map((step) => step.tokensAfter)];
		expect(sizes).toEqual(sizes.toSorted((a, b) => b - a));
		expect(sizes.at(-1)).toBe(tokensAfter);
	});

	it("counts results for truncating and masking, messages for dropping", () => {
		const outcome = plan(1_000);
		expect(outcome.steps.map(({ count }) => count)).toEqual([
			1,
			7,
			outcome.plan.filter((edit) => edit.kind === "remove").length,
		]);
	});

	it("fits exactly at the budget and not one token under", () => {
		const smallest = plan(0).tokensAfter;
		expect(plan(smallest)).toMatchObject({ fits: true });
		expect(plan(smallest - 1)).toMatchObject({ fits: false });
	});

	it("counts a result of several texts, and a message of several values, once", () => {
		const many = (text: string) => [text, text].map((one) => ({ type: "text", text: one }));
		const results = {
			model: "claude-sonnet-4-5",
			messages: [
				{ role: "user", content: "go" },
				{ role: "assistant", content: [{ type: "tool_use", id: "a", name: "ls", input: {} }] },
				{ role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: many(textOfLength(9_000)) }] },
				{ role: "assistant", content: "So." },
			],
		};
		const values = {
			model: "gpt-5",
			input: [
				{ type: "message", role: "user", content: "go" },
				{ type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "Think." }] },
				{ type: "function_call", call_id: "a", name: "ls", arguments: "{}" },
				{ type: "function_call_output", call_id: "a", output: "x".repeat(900) },
				{ type: "message", role: "user", content: "on" },
			],
		};
		const countsOf = (document: unknown, guard: PolicyLayer["guard"]) => {
			const policy = policyOf({ mask: { window_turns: 1 }, guard: { ...limits, ...guard } });
			const { plan, steps } = planGuard({
				transcript: transcriptFrom(document),
				policy,
				budget: 100,
				meter: { countTokens: roughCount, messageOverhead: 4 },
				wording: wordings(policy),
				isPlaceholder: () => false,
			});
			return [plan.length, steps.map(({ count }) => count)];
		};
		expect(countsOf(results, { ladder: ["truncate"] })).toEqual([2, [1]]);
		expect(countsOf(values, { ladder: ["drop"] })).toEqual([3, [2]]);
	});

	it("cuts large results by the strategy of the policy", () => {
		const lines = Array.from({ length: 300 }, (_, at) => (at === 150 ? "ERROR: it broke" : `INFO line ${at} is fine`));
		const log = transcriptFrom(openaiMessages(user("go"), toolTurn("log", lines.join("\n")), assistant("So.")));
		const cutBy = (strategy: "head_tail" | "log", ends: readonly [number, number]) => {
			const [truncate_head_chars, truncate_tail_chars] = ends;
			const policy = policyOf({
				truncate: { strategy },
				guard: { ladder: ["truncate"], max_tool_result_chars: 2_000, truncate_head_chars, truncate_tail_chars },
			});
			const { plan: edits } = planGuard({
				transcript: log,
				policy,
				budget: 100,
				meter: { countTokens: roughCount, messageOverhead: 4 },
				wording: wordings(policy),
				isPlaceholder: () => false,
			});
			const [edit] = edits;
			return edit?.kind === "replace" ? String(edit.replacement) : "";
		};
		const byLog = cutBy("log", [500, 500]);
		expect(byLog).toContain("ERROR: it broke");
		expect(cutBy("head_tail", [500, 500])).not.toContain("ERROR: it broke");
		expect(cutBy("log", [0, 0])).toContain("ERROR: it broke");
		expect(cutBy("head_tail", [0, 0])).not.toContain("line 3 ");
	});
});
