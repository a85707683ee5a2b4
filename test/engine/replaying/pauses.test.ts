import { describe, expect, it } from "vitest";
import { type Pause, pausesOf } from "../../../src/engine/masking/cache-time.ts";
import { meterPauses } from "../../../src/engine/replaying/pauses.ts";
import { messageOf, transcriptOf } from "../../support/transcripts.ts";

const rates = {
	costOf: ({ input, cached }: { readonly input: number; readonly cached: number }) =>
		cached * 0.1 + (input - cached) * 1.25,
	costOfOutput: (tokens: number) => tokens * 5,
};

/** Calls after the given pauses, each with 1 000 tokens more than the call before; a policy that masks nothing. */
function meter({ pauses: seconds, tokens = 30_000 }: { readonly pauses: readonly number[]; readonly tokens?: number }) {
	const pauses = seconds.map((one): Pause => ({ seconds: one, lifetime: 300 }));
	const billWith = (cold: Uint8Array) => {
		const calls = seconds.map((_, call) => {
			const input = tokens + 1_000 * call;
			return { input, cached: call === 0 || cold[call] === 1 ? 0 : input - 1_000 };
		});
		const costs = calls.map(rates.costOf);
		return { calls, costs, billedWithFaults: sum(costs) };
	};
	const cold = Uint8Array.from(seconds, (one) => (one > 300 ? 1 : 0));
	const moments = seconds.map((_, call) => call);
	const bill = billWith(cold);
	return { bill, ...meterPauses({ calls: moments, cold }, { pauses, bill, billWith, rates }) };
}

const sum = (values: readonly number[]) => values.reduce((total, one) => total + one, 0);
const pingOf = (tokens: number) => tokens * 0.1 + 5;

describe("meterPauses", () => {
	it("counts the calls after an expired cache, and their cost with the cache", () => {
		const { bill, ...totals } = meter({ pauses: [0, 10, 301, 20] });
		expect(totals.expiredCalls).toBe(1);
		expect(totals.billedExpired).toBe(32_000 * 1.25);
		expect(bill.billedWithFaults - totals.billedForever).toBeCloseTo(31_000 * 1.15, 6);
	});

	it("bills a ping at the price of reading the request before the pause, and a token of output", () => {
		const { billedForever, billedKeptWarm, pings } = meter({ pauses: [0, 10, 400, 20] });
		expect(pings).toBe(1);
		expect(billedKeptWarm).toBeCloseTo(billedForever + pingOf(31_000), 6);
	});

	it("sends two pings in a pause at most, and loses the cache when they are over", () => {
		const kept = meter({ pauses: [0, 840] });
		expect(kept.pings).toBe(2);
		expect(kept.billedKeptWarm).toBeCloseTo(kept.billedForever + 2 * pingOf(30_000), 6);
		const lost = meter({ pauses: [0, 841] });
		expect(lost.pings).toBe(2);
		expect(lost.billedKeptWarm).toBeCloseTo(lost.bill.billedWithFaults + 2 * pingOf(30_000), 6);
	});

	it("pays for the ping before a call that comes just within the lifetime", () => {
		expect(meter({ pauses: [0, 270] }).pings).toBe(0);
		const { bill, billedKeptWarm, pings } = meter({ pauses: [0, 271] });
		expect(pings).toBe(1);
		expect(billedKeptWarm).toBeCloseTo(bill.billedWithFaults + pingOf(30_000), 6);
	});

	it("sends no ping for a request of up to 20 000 tokens", () => {
		const { bill, billedKeptWarm, billedAtEnd, pings } = meter({ pauses: [0, 400], tokens: 19_000 });
		expect(pings).toBe(0);
		expect(billedKeptWarm).toBe(bill.billedWithFaults);
		expect(billedAtEnd).toBe(0);
	});

	it("prices two pings after the last call, if the program stays open", () => {
		expect(meter({ pauses: [0, 10] }).billedAtEnd).toBeCloseTo(2 * pingOf(31_000), 6);
	});

	it("says nothing of a conversation without times", () => {
		const { bill, ...totals } = meter({ pauses: [0, 0] });
		const { billedWithFaults } = bill;
		expect(totals).toEqual({
			timedCalls: 0,
			expiredCalls: 0,
			billedExpired: 0,
			billedForever: billedWithFaults,
			billedKeptWarm: billedWithFaults,
			pings: 0,
			billedAtEnd: 0,
		});
	});

	it("runs the policy with earlier pauses kept warm, until nothing changes", () => {
		// A policy that masks a half in each pause that loses the cache: the second request is small only if the first is lost.
		const pauses = [0, 400, 400].map((seconds): Pause => ({ seconds, lifetime: 300 }));
		const billWith = (cold: Uint8Array) => {
			const inputs = [30_000, cold[1] === 1 ? 15_000 : 30_000, 30_000];
			const calls = inputs.map((input, call) => ({ input, cached: call === 0 || cold[call] === 1 ? 0 : input }));
			return { calls, costs: calls.map(rates.costOf), billedWithFaults: sum(calls.map(rates.costOf)) };
		};
		const cold = Uint8Array.of(0, 1, 1);
		const totals = meterPauses({ calls: [0, 1, 2], cold }, { pauses, bill: billWith(cold), billWith, rates });
		expect(totals.pings).toBe(2);
		expect(totals.billedKeptWarm).toBeCloseTo(30_000 * 1.25 + 2 * 30_000 * 0.1 + 2 * pingOf(30_000), 6);
	});
});

describe("pausesOf", () => {
	it("has the seconds from the last call, and the lifetime that its answer recorded", () => {
		const at = (seconds: number) => ({ time: 1e12 + seconds * 1_000 });
		const usage = { inputTokens: 9, cachedTokens: 0, cacheSeconds: 3_600 };
		const messages = [
			messageOf({ role: "user", ...at(0) }),
			messageOf({ ...at(5), usage }),
			messageOf({ role: "user", ...at(100) }),
			messageOf(at(120)),
		];
		expect(pausesOf(transcriptOf(...messages), [1, 3], 300)).toEqual([
			{ seconds: 0, lifetime: 300 },
			{ seconds: 0, lifetime: 300 },
			{ seconds: 5, lifetime: 3_600 },
			{ seconds: 100, lifetime: 3_600 },
			{ seconds: 20, lifetime: 3_600 },
		]);
	});
});
