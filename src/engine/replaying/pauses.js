/** When a request is sent once more so that the provider's cache outlives a pause: the rule of `proxy --keep-warm`. */
export const keepWarm = {
	/** The share of the lifetime of the cache that has passed by then. */
	after: 0.9,
	/** The cache of a request of no more tokens is left to expire. */
	moreThanTokens: 20_000,
	/** For each pause. */
	mostPings: 2,
};
/**
 * What the pauses of a conversation cost (docs/replay.md#pauses). `billWith` bills the policy if the cache is lost at the
 * given moments, from which it decides again: where the cache is kept, masking is not free.
 */
export function meterPauses({ calls: moments, cold, copied = 0 }, what) {
	const { pauses, bill, billWith, rates } = what;
	const isTimed = pauses.some(({ seconds }) => seconds > 0);
	const expired = moments.flatMap((moment, call) => (call >= copied && cold[moment] === 1 ? [call] : []));
	const warm = keptWarm(moments, what);
	const inputOf = (call) => warm.calls[call]?.input ?? 0;
	const pings = moments.flatMap((moment, call) => {
		const count = call < copied ? 0 : pingsBefore(pauses[moment], inputOf(call - 1));
		return Array(count).fill(inputOf(call - 1));
	});
	const last = inputOf(moments.length - 1);
	const stays = { seconds: Number.POSITIVE_INFINITY, lifetime: 1 };
	const costOf = (tokens) => rates.costOf({ input: tokens, cached: tokens }) + rates.costOfOutput(1, tokens);
	return {
		timedCalls: isTimed ? moments.length - copied : 0,
		expiredCalls: expired.length,
		billedExpired: expired.reduce((sum, call) => sum + bill.costs[call], 0),
		billedForever:
			expired.length === 0 ? bill.billedWithFaults : billWith(new Uint8Array(cold.length)).billedWithFaults,
		billedKeptWarm: pings.reduce((sum, tokens) => sum + costOf(tokens), warm.billedWithFaults),
		pings: pings.length,
		billedAtEnd: isTimed && moments.length > copied ? pingsBefore(stays, last) * costOf(last) : 0,
	};
}
/** Pings in a pause after a call of so many tokens. */
function pingsBefore({ seconds, lifetime }, tokens) {
	if (tokens <= keepWarm.moreThanTokens) return 0;
	const passed = Math.ceil(seconds / (keepWarm.after * lifetime)) - 1;
	return Math.min(keepWarm.mostPings, Math.max(0, passed));
}
/**
 * The bill with pings. Whether a cache is kept depends on the size of the call before it, and so on the policy at earlier
 * pauses. Each round settles one more pause.
 */
function keptWarm(moments, { pauses, bill, billWith }) {
	const coldAfter = ({ calls }) => {
		let next = 0;
		return Uint8Array.from(pauses, (pause, index) => {
			while ((moments[next] ?? Number.POSITIVE_INFINITY) < index) next += 1;
			const { seconds, lifetime } = pause;
			const kept = pingsBefore(pause, calls[next - 1]?.input ?? 0) * keepWarm.after * lifetime;
			return seconds - kept > lifetime ? 1 : 0;
		});
	};
	let now = bill;
	let cold = pauses.map(({ seconds, lifetime }) => (seconds > lifetime ? 1 : 0));
	for (;;) {
		const next = coldAfter(now);
		if (next.every((one, index) => one === cold[index])) return now;
		now = billWith(next);
		cold = next;
	}
}
