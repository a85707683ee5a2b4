import { fc, test } from "@fast-check/vitest";
import { afterAll, expect } from "vitest";
import type { ReplayHistory } from "../../../src/engine/masking/history.ts";
import { replay, type Schedule } from "../../../src/engine/masking/replay.ts";
import { contextByPart, meterSchedule } from "../../../src/engine/replaying/bill.ts";
import { meterFaults } from "../../../src/engine/replaying/faults.ts";
import { leastOfCases, numberOfCases } from "../../support/case-divisor.ts";
import { policyOf } from "../../support/policy-of.ts";
import { reasoningSession } from "../../support/reasoning-session.ts";
import { beginningOf, historyOf } from "../../support/replay-history.ts";
import { transcriptFrom } from "../../support/transcripts.ts";

const seen = { leftOut: 0, redone: 0, kept: 0 };

const sessions = fc
	.array(
		fc.record({
			thinking: fc.constantFrom(0, 400, 4_000, -4_000),
			output: fc.constantFrom(200, 6_000, 20_000),
			asks: fc.integer({ min: 0, max: 4 }).map((number) => number === 0),
		}),
		{ minLength: 2, maxLength: 30 },
	)
	.map((turns) => transcriptFrom(reasoningSession(turns)));

const policies = fc
	.record({
		window_turns: fc.integer({ min: 1, max: 3 }),
		cadence: fc.constantFrom("every_turn", "stride", "break_even"),
		stride_turns: fc.integer({ min: 2, max: 6 }),
		selection: fc.constantFrom("age", "use"),
		share: fc.constantFrom(0, 0.25, 1),
	} as const)
	.map(({ share, ...mask }) => policyOf({ mask: { ...mask, keep_errors: false }, prices: { thinking_redone: share } }));

/** Each call, worked out from nothing: what it is sent, what it shares with the call before, what it thinks again. */
function plainCalls(history: ReplayHistory, schedule: Schedule, share: number) {
	const { messages } = history.transcript;
	const recorded = Array.from(history.reasoning?.tokens ?? messages.map(() => 0));
	/** Tokens that were produced once more, by the message of their answer. */
	const again = new Map<number, number>();
	const isGone = (message: number, end: number) =>
		history.results.some(({ message: of }, place) => {
			const moment = schedule[place] as number;
			return of < message && moment > message && moment <= end;
		});
	let before: readonly string[] = [];
	let last = 0;
	return history.calls.map((end) => {
		const personAt = messages.findLastIndex(({ role, results }, index) => {
			return index < end && role === "user" && results.length === 0;
		});
		const lost = recorded.map((own, message) => {
			const isLost = message < end && isGone(message, end) && !isGone(message, last);
			return isLost && message > personAt ? own + (again.get(message) ?? 0) : 0;
		});
		const redone = share * lost.reduce((sum, own) => sum + own, 0);
		last = end;
		const sent = messages.slice(0, end).map((_, message) => {
			const masked = history.results.flatMap((result, place) =>
				result.message === message && (schedule[place] as number) <= end ? [result.saves] : [],
			);
			const isLost = isGone(message, end);
			const tokens =
				(history.messageTokens[message] as number) -
				masked.reduce((sum, saves) => sum + saves, 0) +
				(isLost ? -(recorded[message] as number) : (again.get(message) ?? 0));
			return `${tokens} ${message} ${masked.length} ${isLost}`;
		});
		const sizes = sent.map((one) => Number(one.split(" ")[0]));
		// What is counted before each message.
		let same = 0;
		while (same < before.length && before[same] === sent[same]) same += 1;
		before = sent;
		const sumOf = (list: readonly number[]) => list.reduce((sum, one) => sum + one, history.surroundingTokens);
		if (redone > 0) again.set(end, redone);
		return { input: sumOf(sizes), cached: end === history.calls[0] ? 0 : sumOf(sizes.slice(0, same)), redone };
	});
}

test.prop([sessions, policies], { numRuns: numberOfCases(300) })(
	"reasoning is billed as a plain search says",
	(transcript, policy) => {
		const { mask, prices } = policy;
		const history = historyOf(transcript, policy, { bindsReasoning: true });
		const schedule = replay(history, { mask, prices });
		const bill = meterSchedule(history, schedule, prices);
		const plain = plainCalls(history, schedule, prices.thinking_redone);
		bill.calls.forEach(({ input, cached, redone = 0 }, index) => {
			expect(input).toBeCloseTo(plain[index]?.input ?? -1, 6);
			// A message whose reasoning alone is gone changes no message before the masked one.
			expect(cached).toBeCloseTo(plain[index]?.cached ?? -1, 6);
			expect(redone).toBeCloseTo(plain[index]?.redone ?? -1, 6);
		});
		const parts = contextByPart(history, schedule, prices.thinking_redone);
		parts.forEach((part, index) => {
			const sum = Object.values(part).reduce((all, one) => all + one, 0);
			expect(sum).toBeCloseTo(bill.calls[index]?.input ?? -1, 6);
			expect(part.assistant).toBeGreaterThanOrEqual(0);
		});
		const { recorded, leftOut, redone } = bill.reasoning;
		expect(leftOut).toBeLessThanOrEqual(recorded);
		seen.leftOut += leftOut > 0 ? 1 : 0;
		seen.kept += recorded > leftOut ? 1 : 0;
		seen.redone += redone > 0 ? 1 : 0;
		const rates = {
			costOf: ({ input, cached }: { input: number; cached: number }) =>
				cached * prices.cache_read + (input - cached) * prices.cache_write,
			costOfOutput: (tokens: number) => tokens * prices.output,
			thinkingRedone: prices.thinking_redone,
		};
		const { faults, billed } = meterFaults(history, schedule, rates);
		if (faults === 0) expect(billed).toBeCloseTo(bill.billed, 4);
		else expect(billed).toBeGreaterThan(bill.billed);
	},
);

test.prop([sessions, policies], { numRuns: numberOfCases(60) })(
	"a longer history masks the same, where the model binds reasoning",
	(transcript, policy) => {
		const { mask, prices } = policy;
		const scheduleOf = (end: number) =>
			replay(historyOf(beginningOf(transcript, end), policy, { bindsReasoning: true }), { mask, prices });
		let before: Schedule = [];
		for (let end = 3; end <= transcript.messages.length; end += 2) {
			const now = scheduleOf(end);
			Array.from(before).forEach((moment, place) => {
				if (moment !== Number.POSITIVE_INFINITY) expect(now[place]).toBe(moment);
			});
			before = now;
		}
	},
);

afterAll(() => {
	expect(seen.leftOut).toBeGreaterThan(leastOfCases(50));
	expect(seen.redone).toBeGreaterThan(leastOfCases(20));
	expect(seen.kept).toBeGreaterThan(leastOfCases(50));
});
