import { fc, test } from "@fast-check/vitest";
import { afterAll, describe, expect, it } from "vitest";
import type { ReplayHistory } from "../../../src/engine/masking/history.ts";
import { replay, type Schedule } from "../../../src/engine/masking/replay.ts";
import type { PolicyLayer } from "../../../src/engine/policy/schema.ts";
import { leastOfCases, numberOfCases } from "../../support/case-divisor.ts";
import { policyOf } from "../../support/policy-of.ts";
import { beginningOf, historyOf, turnsOf } from "../../support/replay-history.ts";
import { transcriptFrom } from "../../support/transcripts.ts";

const never = Number.POSITIVE_INFINITY;

const seen = { masked: 0, atTheEnd: 0, lateMasked: 0 };

/** Conversations whose results are long enough that masking pays now and then. */
const sessions = fc
	.array(fc.tuple(fc.constantFrom(200, 3_000, 12_000, 40_000), fc.boolean()), { minLength: 3, maxLength: 40 })
	.map((turns) =>
		transcriptFrom(
			turnsOf(
				turns.map(([length, isNamed], turn) => `${isNamed ? "src/file-1.ts " : ""}output ${turn} `.padEnd(length, ".")),
				turns.map(([, isNamed], turn) => (isNamed ? `See src/file-1.ts, step ${turn}.` : `Step ${turn}.`)),
			),
		),
	);

const policies = fc
	.record({
		window_turns: fc.integer({ min: 1, max: 3 }),
		selection: fc.constantFrom("age", "use"),
		cadence: fc.constantFrom("every_turn", "stride", "break_even"),
		stride_turns: fc.integer({ min: 1, max: 6 }),
		thrift: fc.constantFrom("low", "high"),
	} as const)
	.map((mask) => policyOf({ mask: { ...mask, keep_errors: false } as NonNullable<PolicyLayer["mask"]> }));

type How = Omit<Parameters<typeof replay>[1], "mask" | "prices">;

const scheduleOf = (history: ReplayHistory, policy: ReturnType<typeof policyOf>, how: How = {}): Schedule =>
	replay(history, { mask: policy.mask, prices: policy.prices, ...how });

/** What was decided before a moment. */
const before = (schedule: Schedule, moment: number) =>
	Float64Array.from(schedule, (one) => (one < moment ? one : never));

describe("a history that was sent", () => {
	test.prop([sessions, policies, fc.constantFrom(undefined, 4_000)], { numRuns: numberOfCases(300) })(
		"is decided on as in a replay, if it was sent as the replay says",
		(transcript, policy, budget) => {
			for (let end = 3; end <= transcript.messages.length; end += 1) {
				const history = historyOf(beginningOf(transcript, end), policy);
				const whole = scheduleOf(history, policy, { budget });
				expect(scheduleOf(history, policy, { budget, sent: before(whole, end) })).toEqual(whole);
				seen.masked += Array.from(whole).filter((moment) => moment !== never).length;
				seen.atTheEnd += Array.from(whole).filter((moment) => moment === end).length;
			}
		},
	);

	test.prop([sessions, policies, fc.array(fc.integer({ min: 0, max: 120 }), { maxLength: 40 })], {
		numRuns: numberOfCases(300),
	})("keeps all that was sent, at its moment, and decides at the end alone", (transcript, policy, moments) => {
		const history = historyOf(transcript, policy);
		const end = transcript.messages.length;
		const sent = history.results.map((_, place) => {
			const moment = moments[place] ?? never;
			return moment > 100 ? never : moment;
		});
		const schedule = scheduleOf(history, policy, { sent });
		history.results.forEach(({ message }, place) => {
			const was = sent[place] as number;
			const now = schedule[place] as number;
			if (was === never) expect([end, never]).toContain(now);
			else expect(now).toBe(Math.min(end, Math.max(message + 1, was)));
			seen.lateMasked += was === never && now === end ? 1 : 0;
		});
	});

	const balanced = policyOf({ preset: "balanced" });
	const waits = (turns: number) => {
		const outputs = Array.from({ length: turns }, (_, turn) => `output ${turn} `.padEnd(60_000, "."));
		return historyOf(transcriptFrom(turnsOf(outputs)), balanced);
	};
	const maskedAtEnd = (history: ReplayHistory, how: How) => {
		const end = history.transcript.messages.length;
		return Array.from(scheduleOf(history, balanced, how)).filter((moment) => moment === end).length;
	};

	it("masks at the end a result that a fault kept unmasked before", () => {
		const history = waits(30);
		const { results } = history;
		expect(maskedAtEnd(history, { sent: results.map(() => never) })).toBeGreaterThan(15);
	});

	it("waits for ten calls after a masking that was sent, and not after one that was only decided", () => {
		const history = waits(30);
		const end = history.transcript.messages.length;
		const all = (moment: number) => history.results.map(({ message }) => (message < moment - 3 ? moment : never));
		expect(maskedAtEnd(history, { sent: all(end - 12) })).toBe(0);
		expect(maskedAtEnd(history, { sent: all(end - 24) })).toBeGreaterThan(5);
		expect(maskedAtEnd(history, { sent: all(end - 12), coldAt: new Set([end]) })).toBeGreaterThan(3);
		expect(maskedAtEnd(history, { sent: all(end - 12), budget: 10_000 })).toBeGreaterThan(3);
	});

	it("spends no chance on fresh results while over three times as many tokens of older ones wait", () => {
		const outputs = Array.from({ length: 24 }, (_, turn) =>
			`output ${turn} `.padEnd(turn === 21 ? 60_000 : 9_000, "."),
		);
		for (let turns = 4; turns <= 24; turns += 1) {
			const history = historyOf(transcriptFrom(turnsOf(outputs.slice(0, turns))), balanced);
			const schedule = scheduleOf(history, balanced, { sent: history.results.map(() => never) });
			const tokens = (isMasked: boolean) =>
				history.results.reduce((sum, { saves }, place) => {
					const isOld = place < turns - 1;
					return isOld && Number.isFinite(schedule[place]) === isMasked ? sum + saves : sum;
				}, 0);
			if (tokens(true) > 0) expect(3 * tokens(true)).toBeGreaterThanOrEqual(tokens(false));
		}
	});

	it("costs more to edit once its end was sent, too", () => {
		const outputs = Array.from({ length: 24 }, (_, turn) =>
			`output ${turn} `.padEnd(turn === 23 ? 400_000 : 20_000, "."),
		);
		const history = historyOf(transcriptFrom(turnsOf(outputs)), balanced);
		const sent = history.results.map(() => never);
		const end = history.transcript.messages.length;
		expect(maskedAtEnd(history, { sent })).toBeGreaterThan(5);
		expect(maskedAtEnd(history, { sent, isForwarded: true })).toBe(0);
		const cold = { coldAt: new Set([end]) };
		expect(maskedAtEnd(history, { sent, isForwarded: true, ...cold })).toBe(maskedAtEnd(history, { sent, ...cold }));
	});

	it("is kept by a policy that masks nothing", () => {
		const policy = policyOf({ mask: { enabled: false } });
		const history = waits(5);
		expect(Array.from(scheduleOf(history, policy, { sent: [6, never, 99] }))).toEqual([6, never, 12, never, never]);
	});
});

afterAll(() => {
	expect(seen.masked).toBeGreaterThan(leastOfCases(1_000));
	expect(seen.atTheEnd).toBeGreaterThan(leastOfCases(100));
	expect(seen.lateMasked).toBeGreaterThan(leastOfCases(100));
});
