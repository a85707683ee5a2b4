import { describe, expect, it } from "vitest";
import { scaleHistory } from "../../../src/engine/masking/history.ts";
import { replay } from "../../../src/engine/masking/replay.ts";
import type { PolicyLayer } from "../../../src/engine/policy/schema.ts";
import { hiddenTokens } from "../../../src/formats/hidden-reasoning.ts";
import { policyOf } from "../../support/policy-of.ts";
import { reasoningSession } from "../../support/reasoning-session.ts";
import { historyOf } from "../../support/replay-history.ts";
import { transcriptFrom } from "../../support/transcripts.ts";

describe("tokens of reasoning that is not shown", () => {
	it.each<[unknown, unknown, number | undefined]>([
		["", "A".repeat(1_028), 150],
		["", "A".repeat(100), 0],
		[undefined, "A".repeat(1_028), 150],
		["Shown.", "A".repeat(1_028), undefined],
		["", undefined, undefined],
		["", 7, undefined],
	])("of %j are estimated from the signature", (shown, sealed, tokens) => {
		expect(hiddenTokens(shown, sealed)).toBe(tokens);
	});
});

describe("readHistory", () => {
	const transcript = transcriptFrom([
		...reasoningSession([
			{ thinking: 400, output: 100 },
			{ thinking: -400, output: 100 },
			{ thinking: 0, output: 100 },
		]),
		{ role: "assistant", content: [{ type: "redacted_thinking", data: "A".repeat(1_028) }] },
	]);
	const policy = policyOf({});
	const plain = historyOf(transcript, policy);
	const bound = historyOf(transcript, policy, { bindsReasoning: true });

	it("counts no reasoning apart where the model does not bind it", () => {
		expect(plain.reasoning).toBeUndefined();
		expect(historyOf(transcriptFrom([{ role: "user", content: "Go." }]), policy, { bindsReasoning: true })).toEqual({
			...historyOf(transcriptFrom([{ role: "user", content: "Go." }]), policy),
			uses: expect.any(Function),
			lastingUses: expect.any(Function),
			looseTokens: expect.any(Function),
			stale: expect.any(Function),
		});
	});

	it("counts shown reasoning by its text, and hidden reasoning by its signature", () => {
		expect(Array.from(bound.reasoning?.tokens ?? [])).toEqual([0, 100, 0, 100, 0, 0, 0, 150]);
		const added = bound.messageTokens.map((tokens, index) => tokens - (plain.messageTokens[index] ?? 0));
		expect(added.slice(0, 7)).toEqual([0, 0, 0, 100, 0, 0, 0]);
		// Encrypted reasoning was counted as JSON.
		expect(added[7]).toBeLessThan(0);
		expect(bound.messageTokens[7]).toBe(154);
	});

	it("scales shown reasoning, and leaves estimates in the tokens of the model", () => {
		const scaled = scaleHistory(bound, { factor: 2, messageOverhead: 4, requestOverhead: 0 });
		expect(Array.from(scaled.reasoning?.tokens ?? [])).toEqual([0, 200, 0, 100, 0, 0, 0, 150]);
		expect(scaled.messageTokens[7]).toBe(154);
	});
});

describe("masking a conversation with bound reasoning", () => {
	const never = Number.POSITIVE_INFINITY;
	const mask: NonNullable<PolicyLayer["mask"]> = {
		window_turns: 2,
		cadence: "break_even",
		selection: "use",
		keep_errors: false,
	};
	const long = { thinking: 6_000, output: 12_000 };

	/** When results are masked first, by the number of messages. */
	function firstMasking(
		turns: Parameters<typeof reasoningSession>[0],
		{ share = 0.3, binds = true, ...how }: { share?: number; binds?: boolean; coldAt?: Set<number>; budget?: number },
	): number {
		const policy = policyOf({ mask, prices: { thinking_redone: share } });
		const history = historyOf(transcriptFrom(reasoningSession(turns)), policy, { bindsReasoning: binds });
		return Math.min(never, ...Array.from(replay(history, { mask: policy.mask, prices: policy.prices, ...how })));
	}

	const turns = Array.from({ length: 60 }, () => long);

	it("waits longer, the more of the reasoning is produced again", () => {
		const moments = [0, 0.15, 0.3, 0.6, 1].map((share) => firstMasking(turns, { share }));
		expect(moments).toEqual(moments.toSorted((a, b) => a - b));
		expect(moments[0]).toBeLessThan(never);
		expect(moments[4]).toBeGreaterThan(moments[0] as number);
		expect(moments[0]).toBeLessThanOrEqual(firstMasking(turns, { binds: false }));
	});

	it("prefers the start of a person's turn", () => {
		const alone = firstMasking(turns, { share: 1 });
		const asking = turns.map((turn, index) => (index === 20 ? { ...turn, asks: true } : turn));
		// The task, twenty-one turns of two messages, the answer and the person's next message.
		const start = 1 + 42 + 2;
		expect(alone).toBeGreaterThan(start);
		expect(firstMasking(asking, { share: 1 })).toBe(start);
	});

	it("acts where the cache is lost or the context is over the budget, at any loss of reasoning", () => {
		expect(firstMasking(turns, { share: 1, coldAt: new Set([31]) })).toBe(31);
		expect(firstMasking(turns, { share: 1, budget: 30_000 })).toBeLessThan(firstMasking(turns, { share: 1 }));
	});
});
