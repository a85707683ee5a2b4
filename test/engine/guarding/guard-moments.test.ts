import { describe, expect, it } from "vitest";
import type { Edit } from "../../../src/engine/conversation/plan.ts";
import type { Transcript } from "../../../src/engine/conversation/transcript.ts";
import { planGuard } from "../../../src/engine/guarding/guard.ts";
import type { PolicyLayer } from "../../../src/engine/policy/schema.ts";
import { wordings } from "../../../src/engine/policy/wordings.ts";
import { policyOf } from "../../support/policy-of.ts";
import { beginningOf, turnsOf } from "../../support/replay-history.ts";
import { roughCount } from "../../support/rough-count.ts";
import { transcriptFrom } from "../../support/transcripts.ts";

/** Some results are large enough to be cut. */
const transcript = transcriptFrom(
	turnsOf(Array.from({ length: 24 }, (_, turn) => `result ${turn} `.padEnd(turn % 5 === 1 ? 3_000 : 600, "x y "))),
);

const limits = { max_tool_result_chars: 2_000, truncate_head_chars: 300, truncate_tail_chars: 300 };

function planOf(history: Transcript, guard: PolicyLayer["guard"], budget: number) {
	const policy = policyOf({ mask: { window_turns: 3 }, guard: { ...limits, ...guard } });
	return planGuard({
		transcript: history,
		policy,
		budget,
		meter: { countTokens: roughCount, messageOverhead: 4 },
		wording: wordings(policy),
		isPlaceholder: () => false,
	});
}

const keyOf = ({ reason, path }: Edit) => `${reason} ${JSON.stringify(path)}`;

/** By edit of the whole conversation, the number of messages of the shortest beginning with a call that has it. */
function firstMoments(guard: PolicyLayer["guard"], budget: number): Map<string, number> {
	const moments = new Map<string, number>();
	for (let end = 1; end <= transcript.messages.length; end += 1) {
		if (transcript.messages[end - 1]?.role === "assistant") continue;
		for (const edit of planOf(beginningOf(transcript, end), guard, budget).plan) {
			if (!moments.has(keyOf(edit))) moments.set(keyOf(edit), end);
		}
	}
	return moments;
}

describe("the moment of an edit is the first call that had it", () => {
	it.each<[string, PolicyLayer["guard"], number]>([
		["truncated always", { ladder: ["truncate"], truncate_when: "always" }, 100_000],
		["truncated over the budget", { ladder: ["truncate"], truncate_when: "over_budget" }, 2_500],
		["masked over the budget", { ladder: ["mask"] }, 2_500],
		["truncated, then masked", { ladder: ["truncate", "mask"], truncate_when: "over_budget" }, 2_500],
		["truncated always, then masked", { ladder: ["truncate", "mask"], truncate_when: "always" }, 1_800],
		["dropped", { ladder: ["drop"], target_ratio: 0.7 }, 2_500],
	])("%s", (_, guard, budget) => {
		const { plan, momentOf } = planOf(transcript, guard, budget);
		expect(plan.length).toBeGreaterThan(3);
		const found = new Map(plan.map((edit) => [keyOf(edit), momentOf(edit)]));
		const first = firstMoments(guard, budget);
		expect(found).toEqual(new Map(plan.map((edit) => [keyOf(edit), first.get(keyOf(edit))])));
		expect(new Set(found.values()).size).toBeGreaterThan(1);
	});
});

it("the last call may be the first over the budget", () => {
	const total = planOf(transcript, { ladder: [] }, 1).tokensAfter;
	const { plan, momentOf } = planOf(transcript, { ladder: ["mask"] }, total - 1);
	expect(plan.length).toBeGreaterThan(10);
	expect([...new Set(plan.map(momentOf))]).toEqual([transcript.messages.length]);
});

describe("with a target, messages are dropped", () => {
	const ratio = 0.7;
	const budget = 1_100;
	const dropsOf = (plan: readonly Edit[]) => plan.filter(({ reason }) => reason === "drop");

	it.each<[string, ("truncate" | "mask" | "drop")[]]>([
		["after truncation", ["truncate", "drop"]],
		["after masking", ["mask", "drop"]],
		["after both", ["truncate", "mask", "drop"]],
	])("%s when it no longer suffices, and down to the target", (_, ladder) => {
		let gone = new Set<number>();
		let acts = 0;
		for (let end = 4; end <= transcript.messages.length; end += 2) {
			const history = beginningOf(transcript, end);
			const { plan, measurement, tokensAfter, fits } = planOf(history, { ladder, target_ratio: ratio }, budget);
			const others = planOf(history, { ladder: ladder.filter((step) => step !== "drop") }, budget);
			const dropped = new Set(dropsOf(plan).map(({ message }) => message));
			expect(fits).toBe(true);
			if (dropped.size > gone.size) {
				const saved = others.plan.filter(({ message }) => !gone.has(message));
				const left =
					measurement.total.tokens -
					[...gone].reduce((sum, message) => sum + (measurement.messages[message]?.tokens ?? 0), 0) -
					saved.reduce((sum, { before, after }) => sum + before.tokens - after.tokens, 0);
				expect(left).toBeGreaterThan(budget);
				// It may have acted one message ago.
				const newest = measurement.messages.at(-1)?.tokens ?? 0;
				expect(tokensAfter - newest).toBeLessThanOrEqual(ratio * budget);
				acts += 1;
			}
			gone = dropped;
		}
		expect(acts).toBeGreaterThan(0);
	});
});

it("the words of people are together since the first of their messages was dropped", () => {
	const script = Array.from({ length: 30 }, (_, turn) => [
		{ role: "user", content: `Word ${turn}.` },
		{ role: "assistant", content: `Step ${turn}. `.padEnd(400, "x y ") },
	]).flat();
	const words = transcriptFrom(script);
	const policy = policyOf({ guard: { ladder: ["drop"], target_ratio: 0.7, pin_task: false } });
	const { plan, momentOf } = planGuard({
		transcript: words,
		policy,
		budget: 1_500,
		meter: { countTokens: roughCount, messageOverhead: 4 },
		wording: wordings(policy),
		isPlaceholder: () => false,
		keeping: {
			document: script,
			base: [],
			writer: { message: ({ text: content }) => ({ role: "user", content }), appends: true },
			locale: "en",
			most: 10_000,
		},
	});
	const joined = plan.filter(({ reason }) => reason === "summary");
	const dropped = plan.filter(({ reason }) => reason === "drop").map(momentOf);
	expect(joined.length).toBe(1);
	expect(dropped.length).toBeGreaterThan(20);
	expect(joined.map(momentOf)).toEqual([Math.min(...dropped)]);
	expect(new Set(dropped).size).toBeGreaterThan(1);
	expect(Math.max(...dropped)).toBeLessThanOrEqual(script.length);
});

it("with a target and masking by use, as much is masked at once as the target says", () => {
	const masked = (ratio: number | null, factor = 1) => {
		const policy = policyOf({
			mask: { window_turns: 3, selection: "use", cadence: "break_even" },
			guard: { ...limits, ladder: ["mask"], target_ratio: ratio },
		});
		const { plan, tokensAfter } = planGuard({
			transcript,
			policy,
			budget: factor * 3_000,
			scale: { low: factor, factor, high: factor },
			meter: { countTokens: roughCount, messageOverhead: 4 },
			wording: wordings(policy),
			isPlaceholder: () => false,
		});
		return { count: plan.length, tokensAfter };
	};
	// Counted at twice the size, twice the budget is the same.
	expect([masked(0.6, 2).count, masked(0.5, 2).count]).toEqual([19, 20]);
	expect([null, 0.7, 0.6, 0.5].map((ratio) => masked(ratio))).toEqual([
		{ count: 17, tokensAfter: 2_481 },
		{ count: 18, tokensAfter: 2_354 },
		{ count: 19, tokensAfter: 2_227 },
		{ count: 20, tokensAfter: 2_100 },
	]);
});

it.each<[string, ("truncate" | "mask" | "drop")[]]>([
	["truncated", ["truncate", "drop"]],
	["masked", ["mask", "drop"]],
])("messages that are no longer sent make no room when they are %s", (_, ladder) => {
	const compacted = {
		...transcript,
		messages: transcript.messages.map((message, at) => (at > 1 && at < 22 ? { ...message, sent: false } : message)),
	};
	let dropped = 0;
	for (let end = 23; end <= compacted.messages.length; end += 1) {
		const { plan, fits } = planOf(beginningOf(compacted, end), { ladder, target_ratio: 0.7 }, 1_100);
		expect(fits).toBe(true);
		dropped += plan.filter(({ reason }) => reason === "drop").length;
	}
	expect(dropped).toBeGreaterThan(20);
});
