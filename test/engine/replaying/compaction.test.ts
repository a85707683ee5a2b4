import { describe, expect, it } from "vitest";
import type { ReplayHistory } from "../../../src/engine/masking/history.ts";
import { meterCompaction, type ReplayedCompaction } from "../../../src/engine/replaying/compaction.ts";

/** A task, and six turns of a call of 10 tokens, 6 of them reasoning, with a result of 90. */
const turns = 6;
const messages = [100, ...Array.from({ length: turns }, () => [10, 90]).flat()];
const history = {
	messageTokens: messages,
	surroundingTokens: 50,
	calls: Array.from({ length: turns }, (_, turn) => 1 + 2 * turn),
	results: Array.from({ length: turns }, (_, turn) => ({ message: 2 + 2 * turn })),
	cold: new Uint8Array(messages.length + 1),
	reasoning: { tokens: Float64Array.from(messages, (tokens) => (tokens === 10 ? 6 : 0)) },
} as unknown as ReplayHistory;
const compaction: ReplayedCompaction = { by: "provider", trigger: 350, summary: 20, keep: 2 };
const meter = (change: Partial<ReplayedCompaction> = {}, windowTokens?: number) =>
	meterCompaction(history, { ...compaction, ...change }, { windowTokens, thinkingRedone: 0.5 });

describe("a history with summaries", () => {
	it("has one in place of all but the last calls, from the call after the one that reaches the trigger", () => {
		const { calls, requests, schedule, summaries } = meter();
		// Prompts grow by 100: 150, 250, 350. The third one asks; the fourth has the summary and the last two calls.
		expect(calls.map(({ input }) => input)).toEqual([150, 250, 350, 50 + 20 + 200, 370, 50 + 20 + 200]);
		expect(summaries).toBe(2);
		expect([...requests]).toEqual([
			[3, { input: 50 + 200, cached: 50 + 200, output: 20 }],
			[5, { input: 50 + 20 + 200, cached: 50 + 20 + 200, output: 20 }],
		]);
		expect([...schedule].slice(0, 4)).toEqual([7, 11, 11, Number.POSITIVE_INFINITY]);
	});

	it("is not asked for again until as many calls have come as stay, although these alone reach the trigger", () => {
		const { calls, requests } = meter({ trigger: 240 });
		expect([...requests.keys()]).toEqual([2, 4]);
		expect(calls.map(({ input }) => input)).toEqual([150, 250, 270, 370, 270, 370]);
	});

	it("reads what is around the messages from the cache after a summary, and all of it else", () => {
		expect(meter().calls.map(({ cached }) => cached)).toEqual([0, 150, 250, 50, 270, 50]);
	});

	it("is read afresh by a model of our own, and loses the reasoning of the calls that stay", () => {
		const { calls, requests } = meter({ by: "summary" });
		expect(requests.get(3)).toEqual({ input: 200, cached: 0, output: 20 });
		expect(calls[3]).toEqual({ input: 50 + 20 + 200 - 12, cached: 50, redone: 6 });
	});

	it("is asked for at 80 % of the window unless the prompt is named, and not behind the last call", () => {
		expect(meter({ trigger: undefined }, 500).calls[3]?.input).toBe(450);
		expect(meter({ trigger: undefined }, 500).summaries).toBe(1);
		expect(meter({ trigger: 650 }).requests.size).toBe(0);
	});
});
