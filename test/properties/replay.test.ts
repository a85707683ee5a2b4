import { fc, test } from "@fast-check/vitest";
import { afterAll, expect } from "vitest";
import type { ReplayHistory } from "../../src/engine/masking/history.ts";
import { replay, type Schedule } from "../../src/engine/masking/replay.ts";
import type { Policy } from "../../src/engine/policy/schema.ts";
import { contextByPart, meterSchedule } from "../../src/engine/replaying/bill.ts";
import { readConversation } from "../../src/formats/detect.ts";
import { plainCold } from "../engine/masking/plain-cold.ts";
import { leastOfCases, numberOfCases } from "../support/case-divisor.ts";
import { conversations } from "../support/conversation-arbitrary.ts";
import { policyOf } from "../support/policy-of.ts";
import { beginningOf, historyOf } from "../support/replay-history.ts";
import { timings, withTimes } from "../support/times.ts";

const seen = {
	beginnings: 0,
	late: 0,
	calls: 0,
	broken: 0,
	media: 0,
	cold: 0,
	byCadence: { every_turn: 0, stride: 0, break_even: 0 },
};

const toolRules = fc.constantFrom({}, { ls: "never" }, { read_file: "always" }, { grep: { keep_last: 1 } } as const);
const prices = fc.constantFrom([0.1, 1.25], [0.1, 1], [0.5, 1], [1, 1], [0, 2]);
const policies: fc.Arbitrary<Policy> = fc
	.record({
		window_turns: fc.integer({ min: 1, max: 3 }),
		keep_errors: fc.boolean(),
		error_detection: fc.constantFrom("words", "structural"),
		keep_last_k_per_tool: fc.constantFrom(null, 0, 1),
		tools: toolRules,
		selection: fc.constantFrom("age", "use"),
		thrift: fc.constantFrom("low", "medium", "high"),
		cadence: fc.constantFrom("every_turn", "stride", "break_even"),
		stride_turns: fc.integer({ min: 1, max: 4 }),
		digest_tokens: fc.constantFrom(0, 20),
		prices,
		budget: fc.constantFrom(undefined, 500, 2_000),
		media: fc.constantFrom("keep", "mask"),
		forgets: fc.boolean(),
	})
	.map(({ prices: [cache_read = 0, cache_write = 0], budget, media, forgets, ...mask }) => ({
		...policyOf({ mask: mask as Policy["mask"], prices: { cache_read, cache_write }, media }),
		budget,
		forgets,
	}));

const run = (history: ReplayHistory, policy: Policy & { budget?: number | undefined; forgets?: boolean }) =>
	replay(history, {
		mask: policy.mask,
		prices: policy.prices,
		budget: policy.budget,
		slack: 100,
		forgets: policy.forgets,
	});

function editsOf(history: ReplayHistory, schedule: Schedule): Map<string, unknown> {
	return new Map(
		history.results.flatMap(({ outcome }, place) => {
			if (schedule[place] === Number.POSITIVE_INFINITY || typeof outcome === "string") return [];
			return outcome.map((edit) => [JSON.stringify(edit.path), edit.replacement] as const);
		}),
	);
}

test.prop([conversations, policies, timings], { numRuns: numberOfCases(400) })(
	"masked results stay masked, with the same placeholder, when the conversation continues",
	({ document }, policy, timing) => {
		const transcript = withTimes(readConversation(document).transcript, timing);
		let before = new Map<string, unknown>();
		for (let end = 1; end <= transcript.messages.length; end += 1) {
			const history = historyOf(beginningOf(transcript, end), policy);
			const now = editsOf(history, run(history, policy));
			for (const [path, replacement] of before) {
				expect(now.has(path)).toBe(true);
				expect(now.get(path)).toEqual(replacement);
			}
			seen.beginnings += before.size > 0 ? 1 : 0;
			seen.late += now.size > before.size && before.size > 0 ? 1 : 0;
			before = now;
		}
		seen.byCadence[policy.mask.cadence] += before.size;
	},
);

test.prop([conversations, policies, timings], { numRuns: numberOfCases(400) })(
	"the meter bills the same as adding up every call",
	({ document }, policy, timing) => {
		const transcript = withTimes(readConversation(document).transcript, timing);
		const history = historyOf(transcript, policy);
		const schedule = run(history, policy);
		const { cache_read, cache_write } = policy.prices;
		let billed = 0;
		let last: readonly string[] = [];
		for (const call of history.calls) {
			const sent = contextOf(history, schedule, call);
			let same = 0;
			const isCold = plainCold(history, call, policy.prices.cache_seconds);
			seen.cold += isCold ? 1 : 0;
			while (!isCold && same < last.length && same < sent.length && last[same] === sent[same]) same += 1;
			const sizes = sent.map((one) => Number(one.slice(0, one.indexOf(" "))));
			const sum = (list: readonly number[]) => list.reduce((all, one) => all + one, 0);
			billed += sum(sizes.slice(0, same)) * cache_read + sum(sizes.slice(same)) * cache_write;
			seen.calls += 1;
			seen.broken += same < last.length ? 1 : 0;
			last = sent;
		}
		seen.media += history.results.filter(({ outcome }, place) => {
			const isMasked = schedule[place] !== Number.POSITIVE_INFINITY && typeof outcome !== "string";
			return isMasked && outcome.some(({ before }) => before.fixed !== undefined);
		}).length;
		const bill = meterSchedule(history, schedule, policy.prices);
		expect(bill.billed).toBeCloseTo(billed, 6);
		expect(bill.calls).toHaveLength(history.calls.length);
		const parts = contextByPart(history, schedule).map((one) => Object.values(one));
		for (const values of parts) expect(Math.min(...values)).toBeGreaterThanOrEqual(0);
		expect(parts.map((values) => values.reduce((all, one) => all + one, 0))).toEqual(
			bill.calls.map(({ input }) => input),
		);
	},
);

/** What a call is sent, the naive way: for each message its tokens and what stands there, surroundings first. */
function contextOf(history: ReplayHistory, schedule: Schedule, call: number): string[] {
	const parts = [`${history.surroundingTokens} surroundings`];
	for (let message = 0; message < call; message += 1) {
		let tokens = history.messageTokens[message] ?? 0;
		const masked: number[] = [];
		history.results.forEach((result, place) => {
			if (result.message !== message || (schedule[place] ?? 0) > call) return;
			tokens -= result.saves;
			masked.push(place);
		});
		parts.push(`${tokens} message ${message} masked ${masked.join()}`);
	}
	return parts;
}

afterAll(() => {
	expect(seen.beginnings).toBeGreaterThan(leastOfCases(500));
	expect(seen.late).toBeGreaterThan(leastOfCases(150));
	expect(seen.calls).toBeGreaterThan(leastOfCases(1000));
	expect(seen.broken).toBeGreaterThan(leastOfCases(100));
	expect(seen.cold).toBeGreaterThan(leastOfCases(200));
	expect(seen.media).toBeGreaterThan(leastOfCases(20));
	for (const masked of Object.values(seen.byCadence)) expect(masked).toBeGreaterThan(leastOfCases(50));
});
