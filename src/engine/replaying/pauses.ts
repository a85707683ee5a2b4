import type { Pause } from "../masking/cache-time.ts";
import type { CallTokens, ReplayHistory } from "../masking/history.ts";
import type { CallCosts } from "./faults.ts";

/** When a request is sent once more so that the provider's cache outlives a pause: the rule of `proxy --keep-warm`. */
export const keepWarm = {
	/** The share of the lifetime of the cache that has passed by then. */
	after: 0.9,
	/** The cache of a request of no more tokens is left to expire. */
	moreThanTokens: 20_000,
	/** For each pause. */
	mostPings: 2,
} as const;

/** Sums over the calls of a policy. Bills include faults. */
export interface PauseTotals {
	/** Calls of conversations whose times are on record. */
	readonly timedCalls: number;
	/** Calls after the cache had expired, and their bill. */
	readonly expiredCalls: number;
	readonly billedExpired: number;
	/** The bill of all calls, if the cache never expired. */
	readonly billedForever: number;
	/** The same if pings keep the cache warm, with the pings until the last call. */
	readonly billedKeptWarm: number;
	readonly pings: number;
	/** The bill of the pings after the last call, if the program stays open. */
	readonly billedAtEnd: number;
}

/** The bill of a policy. */
interface Bill {
	readonly calls: readonly CallTokens[];
	readonly costs: readonly number[];
	readonly billedWithFaults: number;
}

/**
 * What the pauses of a conversation cost (docs/measure.md#pauses). `billWith` bills the policy if the cache is lost at the
 * given moments, from which it decides again: where the cache is kept, masking is not free.
 */
export function meterPauses(
	{ calls: moments, cold, copied = 0 }: Pick<ReplayHistory, "calls" | "cold" | "copied">,
	what: {
		/** As `pausesOf` returns them. */
		readonly pauses: readonly Pause[];
		readonly bill: Bill;
		readonly billWith: (cold: Uint8Array) => Bill;
		readonly rates: CallCosts;
	},
): PauseTotals {
	const { pauses, bill, billWith, rates } = what;
	const isTimed = pauses.some(({ seconds }) => seconds > 0);
	const expired = moments.flatMap((moment, call) => (call >= copied && cold[moment] === 1 ? [call] : []));
	const warm = keptWarm(moments, what);
	const inputOf = (call: number) => warm.calls[call]?.input ?? 0;
	const pings = moments.flatMap((moment, call) => {
		const count = call < copied ? 0 : pingsBefore(pauses[moment] as Pause, inputOf(call - 1));
		return Array<number>(count).fill(inputOf(call - 1));
	});
	const last = inputOf(moments.length - 1);
	const stays = { seconds: Number.POSITIVE_INFINITY, lifetime: 1 };
	const costOf = (tokens: number) => rates.costOf({ input: tokens, cached: tokens }) + rates.costOfOutput(1, tokens);
	return {
		timedCalls: isTimed ? moments.length - copied : 0,
		expiredCalls: expired.length,
		billedExpired: expired.reduce((sum, call) => sum + (bill.costs[call] as number), 0),
		billedForever:
			expired.length === 0 ? bill.billedWithFaults : billWith(new Uint8Array(cold.length)).billedWithFaults,
		billedKeptWarm: pings.reduce((sum, tokens) => sum + costOf(tokens), warm.billedWithFaults),
		pings: pings.length,
		billedAtEnd: isTimed && moments.length > copied ? pingsBefore(stays, last) * costOf(last) : 0,
	};
}

/** Pings in a pause after a call of so many tokens. */
function pingsBefore({ seconds, lifetime }: Pause, tokens: number): number {
	if (tokens <= keepWarm.moreThanTokens) return 0;
	const passed = Math.ceil(seconds / (keepWarm.after * lifetime)) - 1;
	return Math.min(keepWarm.mostPings, Math.max(0, passed));
}

/**
 * The bill with pings. Whether a cache is kept depends on the size of the call before it, and so on the policy at earlier
 * pauses. Each round settles one more pause.
 */
function keptWarm(
	moments: readonly number[],
	{ pauses, bill, billWith }: Pick<Parameters<typeof meterPauses>[1], "pauses" | "bill" | "billWith">,
): Bill {
	const coldAfter = ({ calls }: Bill): Uint8Array => {
		let next = 0;
		return Uint8Array.from(pauses, (pause, index) => {
			while ((moments[next] ?? Number.POSITIVE_INFINITY) < index) next += 1;
			const { seconds, lifetime } = pause;
			const kept = pingsBefore(pause, calls[next - 1]?.input ?? 0) * keepWarm.after * lifetime;
			return seconds - kept > lifetime ? 1 : 0;
		});
	};
	let now = bill;
	let cold: ArrayLike<number> = pauses.map(({ seconds, lifetime }) => (seconds > lifetime ? 1 : 0));
	for (;;) {
		const next = coldAfter(now);
		if (next.every((one, index) => one === cold[index])) return now;
		now = billWith(next);
		cold = next;
	}
}
