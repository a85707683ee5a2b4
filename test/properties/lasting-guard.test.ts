import { fc, test } from "@fast-check/vitest";
import { afterAll, describe, expect, it } from "vitest";
import type { Edit } from "../../src/engine/conversation/plan.ts";
import type { Transcript } from "../../src/engine/conversation/transcript.ts";
import { pairResults } from "../../src/engine/conversation/turns.ts";
import { planGuard } from "../../src/engine/guarding/guard.ts";
import type { Policy } from "../../src/engine/policy/schema.ts";
import { wordings } from "../../src/engine/policy/wordings.ts";
import { placeholdersOf } from "../../src/storage/restore/recognise.ts";
import { leastOfCases, numberOfCases } from "../support/case-divisor.ts";
import { policyOf } from "../support/policy-of.ts";
import { beginningOf, turnsOf } from "../support/replay-history.ts";
import { roughCount } from "../support/rough-count.ts";
import { transcriptFrom } from "../support/transcripts.ts";

const seen = { dropped: 0, masked: 0, fitting: 0, quiet: 0 };

function guard(transcript: Transcript, policy: Policy, budget: number) {
	return planGuard({
		transcript,
		policy,
		budget,
		meter: { countTokens: roughCount, messageOverhead: 4 },
		wording: wordings(policy),
		isPlaceholder: placeholdersOf(policy),
	});
}

/** The placeholders by place, but for those in dropped messages. */
function placeholders(plan: readonly Edit[]): ReadonlyMap<string, string> {
	return new Map(
		plan.flatMap((edit) =>
			edit.kind === "replace" && edit.reason === "mask"
				? [[JSON.stringify(edit.path), JSON.stringify(edit.replacement)] as const]
				: [],
		),
	);
}

const outputs = fc.array(fc.integer({ min: 10, max: 1_500 }), { minLength: 10, maxLength: 40 });
const words = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 40, maxLength: 40 });
const layers = fc.record({
	preset: fc.constantFrom("balanced", "observation-masking", "context-guard"),
	mask: fc.record({ window_turns: fc.integer({ min: 1, max: 8 }) }),
	guard: fc.record({
		target_ratio: fc.constantFrom(0.5, 0.7, 0.9),
		keep_last_messages: fc.integer({ min: 1, max: 6 }),
		pin_task: fc.boolean(),
		max_tool_result_chars: fc.constantFrom(400, 50_000),
		truncate_head_chars: fc.constant(100),
		truncate_tail_chars: fc.constant(100),
	}),
} as const);

// In the smaller ones whole groups have to go, in the larger ones masking is enough for a while.
const budgets = fc.oneof(fc.integer({ min: 400, max: 4_000 }), fc.integer({ min: 4_000, max: 12_000 }));

test.prop([outputs, words, layers, budgets], { numRuns: numberOfCases(60), endOnFailure: true })(
	"with a target, the guard's edits stay when the conversation continues, and it fits whenever possible",
	(sizes, lengths, layer, budget) => {
		const transcript = transcriptFrom(
			turnsOf(
				sizes.map((size, turn) => `result ${turn} `.padEnd(size * 4, "x y ")),
				lengths.map((length) => "say ".repeat(length)),
			),
		);
		const policy = policyOf(layer);
		let before: ReturnType<typeof placeholders> = new Map();
		let gone = new Set<number>();
		for (let end = 3; end <= transcript.messages.length; end += 1) {
			const { plan, fits } = guard(beginningOf(transcript, end), policy, budget);
			const now = placeholders(plan);
			const dropped = new Set(plan.flatMap((edit) => (edit.reason === "drop" ? [edit.message] : [])));
			for (const message of gone) expect(dropped.has(message)).toBe(true);
			for (const [path, replacement] of before) {
				const message = Number(JSON.parse(path)[0]);
				if (!dropped.has(message)) expect(now.get(path)).toBe(replacement);
			}
			for (const { message, caller } of pairResults(transcript)) {
				if (message < end && caller !== undefined) expect(dropped.has(message)).toBe(dropped.has(caller));
			}
			seen.fitting += fits && dropped.size > 0 ? 1 : 0;
			seen.masked += now.size;
			seen.quiet += dropped.size > 0 && dropped.size === gone.size ? 1 : 0;
			before = now;
			gone = dropped;
		}
		seen.dropped += gone.size;
	},
);

describe("hysteresis", () => {
	const turns = Array.from({ length: 40 }, (_, turn) => `result ${turn} `.padEnd(400, "x y "));
	const transcript = transcriptFrom(turnsOf(turns));
	const actsOf = (policy: Policy) => {
		let acts = 0;
		let before = 0;
		for (let end = 3; end <= transcript.messages.length; end += 2) {
			const { plan, fits } = guard(beginningOf(transcript, end), policy, 1_500);
			expect(fits).toBe(true);
			if (plan.length !== before) acts += 1;
			before = plan.length;
		}
		return acts;
	};

	it("cuts far less often than the guard without a target", () => {
		const ladder = ["drop"] as const;
		const often = actsOf(policyOf({ guard: { ladder: [...ladder], target_ratio: null } }));
		const rarely = actsOf(policyOf({ guard: { ladder: [...ladder], target_ratio: 0.7 } }));
		expect(often).toBeGreaterThan(20);
		expect(rarely).toBeLessThan(often / 2);
	});
});

afterAll(() => {
	expect(seen.dropped).toBeGreaterThan(leastOfCases(50));
	expect(seen.masked).toBeGreaterThan(leastOfCases(250));
	expect(seen.fitting).toBeGreaterThan(leastOfCases(250));
	expect(seen.quiet).toBeGreaterThan(leastOfCases(100));
});
