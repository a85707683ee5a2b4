import type { ReplayHistory } from "../../src/masking/history.ts";
import type { Schedule } from "../../src/masking/replay.ts";
import { type CallCosts, outputOfRecall, pinnedCalls } from "../../src/replaying/faults.ts";

/** One part of a request: a message in one state, or a recalled result. */
interface Part {
	readonly key: string;
	readonly tokens: number;
}

/**
 * The faults and the bill of a schedule by their definition in docs/replay.md: writes out each request as a list of parts,
 * and takes as cached what it has in common with the start of the request before.
 */
export function plainFaults(history: ReplayHistory, schedule: Schedule, { costOf, costOfOutput }: CallCosts) {
	const { calls, results, messageTokens, surroundingTokens } = history;
	const recalled: { place: number; before: number; call: number; until: number }[] = [];
	const isMasked = (place: number, moment: number) => (schedule[place] as number) <= moment;
	const tokensOf = (parts: readonly Part[]) => parts.reduce((sum, { tokens }) => sum + tokens, 0);
	let sent: Part[] = [];
	let [billed, faults] = [0, 0];
	const send = (parts: Part[]) => {
		const same = parts.findIndex(({ key }, index) => sent[index]?.key !== key);
		const cached = sent.length === 0 ? [] : parts.slice(0, same === -1 ? parts.length : same);
		billed += costOf({ input: tokensOf(parts), cached: tokensOf(cached) });
		sent = parts;
	};
	const copiesBefore = (message: number, call: number): Part[] =>
		recalled
			.filter(({ before, until }) => before === message && call < until)
			.map(({ place, call: made }) => ({ key: `copy ${place} of ${made}`, tokens: results[place]?.tokens ?? 0 }));
	const request = (end: number, call: number): Part[] => [
		{ key: "surroundings", tokens: surroundingTokens },
		...Array.from({ length: end }, (_, message) => {
			const own = results.flatMap((result, place) => (result.message === message ? [place] : []));
			const gone = own.filter((place) => isMasked(place, end));
			const saved = gone.reduce((sum, place) => sum + (results[place]?.saves ?? 0), 0);
			const part = { key: `${message} without ${gone}`, tokens: (messageTokens[message] ?? 0) - saved };
			return [...copiesBefore(message, call), part];
		}).flat(),
		...copiesBefore(end, call),
	];
	calls.forEach((end, call) => {
		const from = calls[call - 1] ?? -1;
		const hasMasked = results.some((_, place) => (schedule[place] as number) > from && isMasked(place, end));
		for (const one of recalled) {
			if (hasMasked && call - one.call >= pinnedCalls) one.until = Math.min(one.until, call);
		}
		send(request(end, call));
		const answer = Array.from({ length: (calls[call + 1] ?? messageTokens.length) - end }, (_, index) => end + index);
		const used = answer.flatMap((message) => [
			...(history.uses().identifiers[message] ?? []),
			...(history.uses().lines[message] ?? []),
		]);
		const inView = (place: number) =>
			!isMasked(place, end) || recalled.some((one) => one.place === place && call < one.until);
		const missing = used.filter(({ holders }) => !holders.some(inView));
		if (missing.length === 0) return;
		const smallest = missing.map(({ holders }) => {
			const least = Math.min(...holders.map((place) => results[place]?.tokens ?? 0));
			return holders.findLast((place) => results[place]?.tokens === least) as number;
		});
		billed += costOfOutput(outputOfRecall, tokensOf(request(end, call)));
		for (const place of new Set(smallest)) {
			recalled.push({ place, before: end, call, until: Number.POSITIVE_INFINITY });
		}
		faults += 1;
		send(request(end, call));
	});
	return { faults, billed };
}
