import { describe, expect, it } from "vitest";
import type { CallUsage, Message } from "../../src/engine/conversation/transcript.ts";
import { messageOf, resultOf, transcriptOf } from "../support/transcripts.ts";
import {
	calibrateCalls,
	calibrationTotals,
	causes,
	type Interruption,
	unexplainedCauses,
	withoutUnexplained,
} from "./calibration.ts";

const start = 1_700_000_000_000;
const at = (seconds: number) => ({ time: start + 1_000 * seconds });
const usage = (inputTokens: number, cachedTokens: number, more: Partial<CallUsage> = {}): CallUsage => ({
	inputTokens,
	cachedTokens,
	model: "m",
	...more,
});
const user = (seconds: number) => messageOf({ role: "user", ...at(seconds) });
const tool = (seconds: number, more: Partial<Message> = {}) => messageOf({ role: "tool", ...at(seconds), ...more });
const answer = (seconds: number, given: CallUsage, more: Partial<Message> = {}) =>
	messageOf({ usage: given, ...at(seconds), ...more });

/** `interruptions` are those before a message. */
const calibrated = (messages: readonly Message[], interruptions: Readonly<Record<number, Interruption[]>> = {}) =>
	calibrateCalls(transcriptOf(...messages), {
		cacheSeconds: 300,
		interruptionsBefore: (message) => interruptions[message] ?? [],
	});

/** The predicted reads and causes of all calls but the first, which reads 500. */
const predictions = (messages: readonly Message[], interruptions: Readonly<Record<number, Interruption[]>> = {}) =>
	calibrated([user(0), answer(1, usage(9_000, 500)), ...messages], interruptions)
		.slice(1)
		.map(({ predictedRead, cause }) => [predictedRead, cause]);

describe("a calibrated call", () => {
	it("reads all of the call before it", () => {
		expect(predictions([tool(5), answer(6, usage(9_900, 9_000))])).toEqual([[9_000, undefined]]);
		expect(predictions([tool(5), answer(6, usage(8_000, 8_000))])).toEqual([[8_000, undefined]]);
	});

	it("reads only what other sessions share after a pause, with another model and after a compaction", () => {
		expect(predictions([tool(301), answer(302, usage(9_900, 500))])).toEqual([[500, undefined]]);
		expect(predictions([tool(5), answer(6, usage(9_900, 500, { model: "n" }))])).toEqual([[500, undefined]]);
		const compacted = [user(0), answer(1, usage(9_000, 500), { sent: false }), answer(2, usage(3_000, 500))];
		expect(calibrated(compacted)[1]).toMatchObject({ predictedRead: 500 });
		const leftOut = { sent: false } as const;
		const both = [user(0), answer(1, usage(9_000, 500), leftOut), answer(2, usage(9_300, 9_000), leftOut)];
		expect(calibrated(both)[1]).toMatchObject({ predictedRead: 9_000 });
	});

	it("reads only what other sessions share after a restart and a compaction that the file records", () => {
		const next = [user(5), answer(6, usage(9_900, 500))];
		expect(predictions(next, { 3: ["restart"] })).toEqual([[500, undefined]]);
		expect(predictions(next, { 3: ["fork", "compaction"] })).toEqual([[500, undefined]]);
	});

	it("reads at a new turn the request of the last turn's first call, if the provider drops reasoning", () => {
		const turns = (model: string) => [
			answer(1, usage(9_000, 500, { model })),
			tool(5),
			answer(6, usage(12_000, 9_000, { model })),
			user(10),
			answer(11, usage(11_900, 9_000, { model })),
		];
		const last = (model: string) => calibrated([user(0), ...turns(model)]).at(-1);
		expect(last("openai/gpt-5.3-codex")).toMatchObject({ predictedRead: 9_000 });
		expect(last("claude-opus-4-6")).toMatchObject({ predictedRead: 11_900, cause: "prompt" });
		expect(last("neo4")).toMatchObject({ predictedRead: 11_900, cause: "prompt" });
	});

	it("names the cause of a difference", () => {
		expect(predictions([tool(301), answer(302, usage(9_900, 9_000))])).toEqual([[500, "pause"]]);
		expect(predictions([tool(5), answer(6, usage(9_900, 9_000, { model: "n" }))])).toEqual([[500, "model_change"]]);
		expect(predictions([tool(5), answer(6, usage(9_900, 500))], { 3: ["fork"] })).toEqual([[9_000, "fork"]]);
		expect(predictions([tool(5), answer(6, usage(9_900, 9_000))], { 3: ["restart"] })).toEqual([[500, "restart"]]);
		expect(predictions([tool(5), answer(6, usage(9_900, 8_900))])).toEqual([[9_000, "granularity"]]);
		expect(predictions([user(5), answer(6, usage(9_900, 500))])).toEqual([[9_000, "prompt"]]);
		expect(predictions([tool(5), answer(6, usage(9_900, 500))])).toEqual([[9_000, "provider"]]);
		expect(predictions([tool(5), answer(6, usage(19_900, 10_500))])).toEqual([[9_000, "surplus"]]);
		const compacted = [user(0), answer(1, usage(9_000, 500), { sent: false }), answer(2, usage(4_000, 2_900))];
		expect(calibrated(compacted)[1]).toMatchObject({ predictedRead: 500, cause: "compaction" });
		const short = calibrated([user(0), answer(1, usage(3_000, 0)), user(2), answer(3, usage(3_100, 0))]);
		expect(short[1]).toMatchObject({ predictedRead: 3_000, cause: "granularity" });
	});
});

describe("the limits of the rules of calibration", () => {
	const second = (given: CallUsage, interruptions: Interruption[] = [], first = usage(9_000, 500)) =>
		calibrated([user(0), answer(1, first), tool(5), answer(6, given)], { 3: interruptions })[1];

	it.each([
		["a block less", 9_000 - 1_024, "granularity"],
		["more than a block less", 9_000 - 1_025, "provider"],
		["a block more", 9_000 + 1_024, "granularity"],
		["more than a block more", 9_000 + 1_025, "surplus"],
		["nothing", 0, "provider"],
	] as const)("a call that reads %s than predicted", (_what, read, cause) => {
		expect(second(usage(19_000, read))).toMatchObject({ input: 19_000, read, predictedRead: 9_000, cause });
	});

	it.each([
		[4_095, "granularity"],
		[4_096, "provider"],
	])("a prompt of %i tokens that is not cached", (input, cause) => {
		expect(second(usage(9_000, 0), [], usage(input, 0))).toMatchObject({ predictedRead: input, cause });
	});

	it("predicts no more than the input, has no cause without a difference, and no prediction for the first call", () => {
		const calls = calibrated([user(0), answer(1, usage(9_000, 500)), tool(5), answer(6, usage(8_000, 8_000))]);
		expect(calls).toEqual([
			{ message: 1, input: 9_000, read: 500, predictedRead: 500 },
			{ message: 3, input: 8_000, read: 8_000, predictedRead: 8_000 },
		]);
		expect(calibrated([user(0), messageOf({ role: "assistant" })])).toEqual([]);
	});

	it("takes the first interruption that is not a fork, before all other causes", () => {
		expect(second(usage(9_900, 9_000, { model: "n" }), ["fork", "restart", "compaction"])?.cause).toBe("restart");
		expect(second(usage(9_900, 9_000), ["compaction", "restart"])?.cause).toBe("compaction");
		expect(second(usage(19_900, 12_000), ["fork"])?.cause).toBe("fork");
	});

	it("takes a model for another only if both calls name theirs", () => {
		const unnamed = { model: undefined } as unknown as Partial<CallUsage>;
		expect(second(usage(9_900, 9_000, unnamed))?.predictedRead).toBe(9_000);
		expect(second(usage(9_900, 9_000), [], usage(9_000, 500, unnamed))?.predictedRead).toBe(9_000);
		expect(second(usage(9_900, 9_000, { model: "n" }))?.cause).toBe("model_change");
	});

	it("takes a message with results for no prompt of the user", () => {
		const held = tool(5, { role: "user", results: [resultOf("c")] });
		const calls = calibrated([user(0), answer(1, usage(9_000, 500)), held, answer(6, usage(9_900, 500))]);
		expect(calls[1]?.cause).toBe("provider");
	});

	it.each([
		["gpt-5", 9_000],
		["openai/gpt-9-mini", 9_000],
		["o3", 9_000],
		["codex-mini", 9_000],
		["gpt-4o", 11_900],
		["my-gpt-5", 11_900],
		["my-o3", 11_900],
		["x/codex", 11_900],
		["other/gpt-5", 11_900],
		["o-3", 11_900],
		["gpt-x", 11_900],
		[undefined, 11_900],
	])("a new turn of %s reads %i tokens", (model, predictedRead) => {
		const named = { model } as Partial<CallUsage>;
		const turns = [
			answer(1, usage(9_000, 500, named)),
			tool(5),
			answer(6, usage(12_000, 9_000, named)),
			user(10),
			answer(11, usage(11_900, 9_000, named)),
			tool(12),
			answer(13, usage(12_500, 11_900, named)),
			user(14),
			answer(15, usage(20_000, 11_900, named)),
		];
		const calls = calibrated([user(0), ...turns]);
		expect(calls[2]?.predictedRead).toBe(predictedRead);
		expect(calls[3]?.predictedRead).toBe(11_900);
		expect(calls[4]?.predictedRead).toBe(predictedRead === 9_000 ? 11_900 : 12_500);
	});

	it("loses no reasoning at a turn after one with a single call", () => {
		const named = { model: "gpt-5" };
		const turns = [answer(1, usage(9_000, 500, named)), user(5), answer(6, usage(9_900, 7_000, named))];
		expect(calibrated([user(0), ...turns])[1]).toMatchObject({ predictedRead: 9_000, cause: "prompt" });
		const wrong = [answer(1, usage(9_000, 500, named)), tool(2), answer(3, usage(9_500, 9_000, named)), user(5)];
		const last = calibrated([user(0), ...wrong, answer(6, usage(9_900, 3_000, named))]).at(-1);
		expect(last).toMatchObject({ predictedRead: 9_000, cause: "reasoning" });
	});

	it("names the causes that a rule explains before the others", () => {
		expect(causes).toEqual([
			...["granularity", "compaction", "model_change", "restart", "pause", "reasoning"],
			...["fork", "prompt", "provider", "surplus"],
		]);
		expect(unexplainedCauses).toEqual(["fork", "prompt", "provider", "surplus"]);
		const costOf = () => 0;
		const calls = causes.map((cause) => ({ message: 1, input: 1, read: 0, predictedRead: 1, cause }));
		const explained = withoutUnexplained({ calls, costOf });
		expect(explained.calls.map(({ cause }) => cause)).toEqual(causes.slice(0, 6));
		expect(explained.costOf).toBe(costOf);
		expect(Object.keys(calibrationTotals([]).causes)).toEqual(causes);
	});
});

describe("the totals of calls", () => {
	const costOf = ({ input, cached }: { input: number; cached: number }) => cached * 0.1 + (input - cached) * 1.25;
	const callsOf = () => calibrated([user(0), answer(1, usage(9_000, 500)), tool(5), answer(6, usage(9_900, 500))]);

	it("add up reads, writes and the bill, and the differences by cause", () => {
		const causeBilled = (0.1 - 1.25) * 8_500;
		expect(calibrationTotals([{ calls: callsOf(), costOf }])).toMatchObject({
			conversations: 1,
			calls: 2,
			read: 1_000,
			predictedRead: 9_500,
			written: 17_900,
			predictedWritten: 9_400,
			billed: 1_000 * 0.1 + 17_900 * 1.25,
			predictedBilled: 9_500 * 0.1 + 9_400 * 1.25,
			causes: {
				provider: { calls: 1, tokens: 8_500, billed: expect.closeTo(causeBilled, 6) },
				prompt: { calls: 0, tokens: 0, billed: 0 },
			},
		});
	});

	it("add up over sessions, each at its prices, and the causes explain the whole difference", () => {
		const both = calibrationTotals([
			{ calls: callsOf(), costOf },
			{ calls: callsOf(), costOf: (call) => 2 * costOf(call) },
		]);
		expect(both).toMatchObject({ conversations: 2, calls: 4, read: 2_000, predictedRead: 19_000 });
		expect(both.billed).toBeCloseTo(3 * (1_000 * 0.1 + 17_900 * 1.25), 6);
		const all = Object.values(both.causes);
		expect(all.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(both.predictedRead - both.read);
		expect(all.reduce((sum, { billed }) => sum + billed, 0)).toBeCloseTo(both.predictedBilled - both.billed, 6);
	});

	it("leave out the calls that no rule explains, and only those", () => {
		const [first, second] = callsOf() as [ReturnType<typeof callsOf>[number], ReturnType<typeof callsOf>[number]];
		const session = { calls: [first, second, { ...second, cause: "pause" as const }], costOf };
		expect(withoutUnexplained(session).calls.map(({ cause }) => cause)).toEqual([undefined, "pause"]);
	});
});
