import { describe, expect, it } from "vitest";
import type { CallUsage, Message } from "../../src/conversation/transcript.ts";
import { addCalibrations, calibrateCalls, totalsOfCalls } from "../../src/replaying/calibration.ts";
import { messageOf, transcriptOf } from "../support/transcripts.ts";

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

const calibrated = (messages: readonly Message[], forks: readonly number[] = []) =>
	calibrateCalls(transcriptOf(...messages), {
		cacheSeconds: 300,
		isForkBefore: (message) => forks.includes(message),
	});

/** The predicted reads and causes of all calls but the first, which reads 500. */
const predictions = (messages: readonly Message[], forks: readonly number[] = []) =>
	calibrated([user(0), answer(1, usage(9_000, 500)), ...messages], forks)
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
	});

	it("names the cause of a difference", () => {
		expect(predictions([tool(301), answer(302, usage(9_900, 9_000))])).toEqual([[500, "pause"]]);
		expect(predictions([tool(5), answer(6, usage(9_900, 9_000, { model: "n" }))])).toEqual([[500, "model_change"]]);
		expect(predictions([tool(5), answer(6, usage(9_900, 500))], [3])).toEqual([[9_000, "fork"]]);
		expect(predictions([tool(5), answer(6, usage(9_900, 8_900))])).toEqual([[9_000, "granularity"]]);
		expect(predictions([user(5), answer(6, usage(9_900, 500))])).toEqual([[9_000, "prompt"]]);
		expect(predictions([tool(5), answer(6, usage(9_900, 500))])).toEqual([[9_000, "unknown"]]);
		const short = calibrated([user(0), answer(1, usage(3_000, 0)), user(2), answer(3, usage(3_100, 0))]);
		expect(short[1]).toMatchObject({ predictedRead: 3_000, cause: "granularity" });
	});
});

describe("the totals of calls", () => {
	const costOf = ({ input, cached }: { input: number; cached: number }) => cached * 0.1 + (input - cached) * 1.25;
	const calls = calibrated([user(0), answer(1, usage(9_000, 500)), tool(5), answer(6, usage(9_900, 500))]);

	it("add up reads, writes and the bill, and the differences by cause", () => {
		expect(totalsOfCalls(calls, costOf)).toMatchObject({
			calls: 2,
			read: 1_000,
			predictedRead: 9_500,
			written: 17_900,
			predictedWritten: 9_400,
			billed: 1_000 * 0.1 + 17_900 * 1.25,
			predictedBilled: 9_500 * 0.1 + 9_400 * 1.25,
			causes: { unknown: { calls: 1, tokens: 8_500 }, prompt: { calls: 0, tokens: 0 } },
		});
	});

	it("add up over sessions, and the causes explain the whole difference", () => {
		const one = totalsOfCalls(calls, costOf);
		const both = addCalibrations([one, one]);
		expect(both).toMatchObject({ conversations: 2, calls: 4, read: 2_000, predictedRead: 19_000 });
		const explained = Object.values(both.causes).reduce((sum, { tokens }) => sum + tokens, 0);
		expect(explained).toBe(both.predictedRead - both.read);
	});
});
