import { outputOfRecall } from "../../../src/engine/masking/fault-cost.ts";
import type { ReplayHistory } from "../../../src/engine/masking/history.ts";
import { callsInView } from "../../../src/engine/masking/in-use.ts";
import type { Schedule } from "../../../src/engine/masking/replay.ts";
import type { CallCosts } from "../../../src/engine/replaying/faults.ts";

/**
 * The faults and the bill of a schedule by their definition in docs/measure.md#replay: writes out each request as a list of
 * messages, and takes as cached those that it has in common with the start of the request before.
 */
export function plainFaults(history: ReplayHistory, schedule: Schedule, { costOf, costOfOutput }: CallCosts) {
	const { calls, results, messageTokens, surroundingTokens, cut } = history;
	const whole = cut?.whole ?? history;
	const isMasked = (place: number, end: number) => (schedule[place] as number) <= end;
	const sizeOf = (place: number) => whole.results[place]?.tokens ?? 0;
	const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);
	const request = (end: number) =>
		messageTokens.slice(0, end).map((tokens, message) => {
			const gone = results.flatMap((one, place) => (one.message === message && isMasked(place, end) ? [place] : []));
			return { key: `${gone}`, tokens: tokens - sum(gone.map((place) => results[place]?.saves ?? 0)) };
		});
	// Histories of these tests know the lifetime of their cache by `cold`, which has an oracle of its own.
	const isCold = (end: number) => history.cold[end] === 1;
	/** Places of results by the call that recalled them. */
	const recalledBy = new Map<number, number[]>();
	let billed = 0;
	calls.forEach((end, call) => {
		const carried = [...recalledBy].flatMap(([by, places]) => (call - by <= callsInView ? places : []));
		const own = request(end);
		const before = call === 0 ? undefined : request(calls[call - 1] as number);
		const changed = own.findIndex(({ key }, index) => before?.[index]?.key !== key);
		const same = before === undefined ? [] : own.slice(0, changed === -1 ? own.length : changed);
		const copies = sum(carried.map(sizeOf));
		const input = surroundingTokens + sum(own.map(({ tokens }) => tokens)) + copies;
		const kept = before === undefined || isCold(end) ? 0 : surroundingTokens + sum(same.map(({ tokens }) => tokens));
		billed += costOf({ input, cached: kept + copies });
		const answer = Array.from({ length: (calls[call + 1] ?? messageTokens.length) - end }, (_, index) => end + index);
		const missing = (["identifiers", "lines"] as const).flatMap((kind) => {
			const used = answer.flatMap((message) => whole.uses()[kind][message] ?? []);
			return used.filter(({ text, holders }) => {
				const isLeft = (place: number) => !isMasked(place, end) && !cut?.hides(place, kind, text);
				return !holders.some((place) => isLeft(place) || carried.includes(place));
			});
		});
		if (missing.length === 0) return;
		const smallest = missing.map(({ holders }) => {
			const least = Math.min(...holders.map(sizeOf));
			return holders.findLast((place) => sizeOf(place) === least) as number;
		});
		const places = [...new Set(smallest)];
		recalledBy.set(call, places);
		billed += costOfOutput(outputOfRecall, input);
		billed += costOf({ input: input + sum(places.map(sizeOf)), cached: input });
	});
	return { faults: recalledBy.size, billed };
}
