import { test } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import type { ReplayHistory } from "../../../src/engine/masking/history.ts";
import { planMask } from "../../../src/engine/masking/mask.ts";
import { replay, type Schedule } from "../../../src/engine/masking/replay.ts";
import type { PolicyLayer, Prices } from "../../../src/engine/policy/schema.ts";
import { wordings } from "../../../src/engine/policy/wordings.ts";
import { meterSchedule } from "../../../src/engine/replaying/bill.ts";
import { readConversation } from "../../../src/formats/detect.ts";
import { placeholdersOf } from "../../../src/storage/restore/recognise.ts";
import { conversations, maskSettings } from "../../support/conversation-arbitrary.ts";
import { policyOf } from "../../support/policy-of.ts";
import { historyOf, turnsOf } from "../../support/replay-history.ts";
import { roughCount } from "../../support/rough-count.ts";
import { transcriptFrom } from "../../support/transcripts.ts";

const output = (turn: number, size = 400) => `output of turn ${turn} `.padEnd(size, ".");

const outputs = (count: number, size?: number) => Array.from({ length: count }, (_, turn) => output(turn, size));

/** The moments at which the results of a conversation are masked; -1 for those that are not. */
function moments(messages: unknown[], mask: PolicyLayer["mask"], more: { budget?: number; prices?: object } = {}) {
	const policy = policyOf({ mask: { keep_errors: false, ...mask }, prices: more.prices ?? {} });
	const history = historyOf(transcriptFrom(messages), policy);
	const schedule = replay(history, { mask: policy.mask, prices: policy.prices, budget: more.budget });
	return Array.from(schedule, (moment) => (moment === Number.POSITIVE_INFINITY ? -1 : moment));
}

/** The bill after so many calls. */
function billsByCall(history: ReplayHistory, schedule: Schedule, prices: Prices): number[] {
	let bill = 0;
	const { calls } = meterSchedule(history, schedule, prices);
	return [
		0,
		...calls.map(({ input, cached }) => (bill += cached * prices.cache_read + (input - cached) * prices.cache_write)),
	];
}

describe("cadences", () => {
	test.prop([conversations, maskSettings], { numRuns: 200 })(
		"every turn and by age, the last state equals masking the complete history",
		({ document }, { windowTurns, keepErrors, keepLastK }) => {
			const { transcript } = readConversation(document);
			const policy = policyOf({
				mask: { window_turns: windowTurns, keep_errors: keepErrors, keep_last_k_per_tool: keepLastK },
			});
			const history = historyOf(transcript, policy);
			const schedule = replay(history, { mask: policy.mask, prices: policy.prices });
			const replayed = history.results.flatMap(({ outcome }, place) =>
				schedule[place] === Number.POSITIVE_INFINITY || typeof outcome === "string" ? [] : outcome,
			);
			const { edits } = planMask({
				transcript,
				policy: policy.mask,
				media: policy.media,
				wording: wordings(policy),
				isPlaceholder: placeholdersOf(policy),
				countTokens: roughCount,
				replaying: { meter: { countTokens: roughCount, messageOverhead: 4 }, prices: policy.prices },
			});
			expect(replayed).toEqual(edits);
		},
	);

	it("stride masks turns older than the window every given number of turns", () => {
		// Message 2t + 2 makes the call of turn t, 2t + 3 answers it.
		const acted = moments(turnsOf(outputs(12)), { window_turns: 2, cadence: "stride", stride_turns: 4 });
		expect(acted).toEqual([14, 14, 14, 14, 22, 22, 22, 22, -1, -1, -1, -1]);
	});

	it("break_even acts rarely, and then masks everything eligible", () => {
		const acted = moments(turnsOf(outputs(60)), { window_turns: 4, cadence: "break_even" });
		const times = [...new Set(acted.filter((moment) => moment !== -1))];
		expect(times.length).toBeGreaterThan(1);
		expect(times.length).toBeLessThan(12);
		expect(acted.slice(0, 30)).not.toContain(-1);
	});

	it("break_even with equal prices for reading and writing is every_turn", () => {
		const prices = { cache_read: 1, cache_write: 1 };
		const document = turnsOf(outputs(30));
		const patient = moments(document, { window_turns: 3, cadence: "break_even" }, { prices });
		expect(patient).toEqual(moments(document, { window_turns: 3 }));
	});

	it.each([0.1, 0.05, 0.025])(
		"break_even bills no more than masking nothing after two calls, wherever a session of 20 to 40 calls ends (a read costs %d)",
		(cache_read) => {
			const masks = [
				{ window_turns: 3, cadence: "break_even" },
				{ window_turns: 5, cadence: "break_even", selection: "use", thrift: "high" },
			] as const;
			let saving = 0;
			for (const mask of masks) {
				for (const size of [300, 1_000, 3_000, 12_000]) {
					const policy = policyOf({ mask, prices: { cache_read, cache_write: 1.25 } });
					const history = historyOf(transcriptFrom(turnsOf(outputs(60, size))), policy);
					const schedule = replay(history, { mask: policy.mask, prices: policy.prices });
					const never = history.results.map(() => Number.POSITIVE_INFINITY);
					const [own, raw] = [schedule, never].map((one) => billsByCall(history, one, policy.prices)) as [
						number[],
						number[],
					];
					const isAbove = (calls: number) => (own[calls] as number) > (raw[calls] as number) * (1 + 1e-9);
					for (let calls = 20; calls <= 40; calls += 1) {
						expect([calls, [calls, calls + 1, calls + 2].every(isAbove)]).toEqual([calls, false]);
						if (isAbove(calls)) expect((own[calls] as number) / (raw[calls] as number)).toBeLessThan(1.08);
					}
					saving += own.filter((bill, calls) => bill < (raw[calls] as number)).length;
				}
			}
			expect(saving).toBeGreaterThan(40);
		},
	);

	it("acts at once when the context would exceed the budget, at any cadence", () => {
		const mask = { window_turns: 2, cadence: "stride", stride_turns: 1_000 } as const;
		expect(moments(turnsOf(outputs(12)), mask)).toEqual(Array(12).fill(-1));
		const acted = moments(turnsOf(outputs(12)), mask, { budget: 700 });
		expect(acted[0]).toBeGreaterThan(6);
		expect(acted[0]).toBeLessThan(18);
	});
});

describe("selections", () => {
	it("by use, keeps a result that answers come back to longer than one that none uses", () => {
		const words = Array.from({ length: 30 }, (_, turn) => `Now handleTurnZero, step ${turn}.`);
		const texts = outputs(30).map((text, turn) =>
			turn === 0 ? `function handleTurnZero() {} ${"and more ".repeat(600)}` : text,
		);
		const mask = { window_turns: 2, selection: "use", cadence: "every_turn", thrift: "medium" } as const;
		const [used = -1] = moments(turnsOf(texts, words), mask);
		const [unused = -1] = moments(turnsOf(texts), mask);
		expect(unused).not.toBe(-1);
		expect(used === -1 || used > unused).toBe(true);
	});

	it("by use, masks a result that a later one repeats at once, at any thrift", () => {
		const texts = outputs(8).map((text, turn) => (turn === 5 ? output(0) : text));
		const mask = { window_turns: 2, selection: "use", cadence: "every_turn", thrift: "low" } as const;
		const [first = -1, second = -1] = moments(turnsOf(texts), mask);
		expect(first).not.toBe(-1);
		expect(second === -1 || second > first).toBe(true);
	});

	it("by use, over the budget, masks the oldest until the context fits, and no more", () => {
		const mask = { window_turns: 2, selection: "use", cadence: "every_turn", thrift: "low" } as const;
		const { messageTokens, results } = historyOf(transcriptFrom(turnsOf(outputs(6))), policyOf({ mask }));
		const sum = messageTokens.slice(0, 10).reduce((tokens, one) => tokens + one, 0);
		const acted = moments(turnsOf(outputs(6)), mask, { budget: sum - (results[0]?.saves ?? 0) });
		expect(acted.slice(0, 2)).toEqual([10, 12]);
	});

	it("follows the rules for single tools", () => {
		const document = turnsOf(outputs(8));
		expect(moments(document, { window_turns: 2, tools: { read: "never" } })).toEqual(Array(8).fill(-1));
		expect(moments(document, { window_turns: 6, tools: { read: "always" } }).slice(0, 3)).toEqual([6, 8, 10]);
		const lastThree = moments(document, { window_turns: 1, tools: { read: { keep_last: 3 } } });
		expect(lastThree.map((moment) => moment === -1)).toEqual([...Array(5).fill(false), true, true, true]);
		expect(moments(document, { window_turns: 7, tools: JSON.parse('{"constructor": "never"}') })[0]).toBe(18);
	});

	it("keeps a structural error until the same call succeeds", () => {
		const failing = JSON.parse(JSON.stringify(turnsOf(outputs(8)))) as { content: string }[];
		const error = `Exit code 1\n${output(0)}`;
		const retried = (turn: number, of: number) => {
			const made = failing[2 * turn + 2] as unknown as { tool_calls: { function: { arguments: string } }[] };
			const call = made.tool_calls[0];
			if (call) call.function.arguments = JSON.stringify({ path: `src/file-${of}.ts` });
		};
		for (const turn of [0, 1]) (failing[2 * turn + 3] as { content: string }).content = error + turn;
		retried(4, 0);
		const acted = moments(failing, { window_turns: 1, keep_errors: true, error_detection: "structural" });
		expect(acted[0]).toBe(12);
		expect(acted[1]).toBe(-1);
	});
});

describe("a price step", () => {
	const messages = turnsOf(outputs(40, 4_000));
	const replayed = (mask: PolicyLayer["mask"], steps: readonly { over: number; input: number; output: number }[]) => {
		const policy = policyOf({ mask: { keep_errors: false, window_turns: 2, ...mask }, prices: { steps: [...steps] } });
		const history = historyOf(transcriptFrom(messages), policy);
		const schedule = replay(history, { mask: policy.mask, prices: policy.prices });
		const sizes = meterSchedule(history, schedule, policy.prices).calls.map(({ input }) => input);
		return { schedule: Array.from(schedule), most: Math.max(...sizes) };
	};
	const rules = [
		{ cadence: "stride", stride_turns: 100 },
		{ cadence: "break_even", selection: "use", thrift: "low" },
	] as const;

	it.each(rules)("is not passed, and masking because of it makes room for some calls: %o", (mask) => {
		const { most } = replayed(mask, []);
		const over = Math.round(most / 2);
		const below = replayed(mask, [{ over, input: 5, output: 5 }]);
		expect(below.most).toBeLessThanOrEqual(over);
		expect(below.most).toBeGreaterThan(0.8 * over);
		expect(new Set(below.schedule.filter(Number.isFinite)).size).toBeLessThan(8);
	});

	it.each(rules)("changes nothing where masking everything does not avoid it: %o", (mask) => {
		expect(replayed(mask, [{ over: 1, input: 5, output: 5 }])).toEqual(replayed(mask, []));
	});
});

describe("a provider's cache that had expired", () => {
	const mask = { window_turns: 3, cadence: "break_even", keep_errors: false } as const;
	const policy = policyOf({ mask });
	const momentsAt = (turns: number, coldAt?: ReadonlySet<number>) => {
		const history = historyOf(transcriptFrom(turnsOf(outputs(turns, 2_000))), policy);
		return Array.from(replay(history, { mask: policy.mask, prices: policy.prices, coldAt }));
	};
	// The request after the fifth tool turn: two messages before the first turn, and two for each.
	const afterFive = 12;

	it("makes all candidates go that a live cache would keep", () => {
		expect(momentsAt(5).every((moment) => moment === Number.POSITIVE_INFINITY)).toBe(true);
		const never = Number.POSITIVE_INFINITY;
		expect(momentsAt(5, new Set([afterFive]))).toEqual([afterFive, afterFive, never, never, never]);
	});

	it("makes no more go than older than the window, and at its moment alone", () => {
		expect(momentsAt(5, new Set([afterFive + 2]))).toEqual(momentsAt(5));
	});

	it("counts in a longer history at the same moment", () => {
		const cold = new Set([afterFive]);
		for (const turns of [6, 9, 14]) {
			expect(momentsAt(turns, cold).slice(0, 2)).toEqual([afterFive, afterFive]);
		}
	});
});
