import type { ReplayHistory, ReplayResult } from "../../src/engine/masking/history.ts";
import type { Taken } from "../../src/engine/masking/uses.ts";
import { callsAfter, usesByCall } from "../../src/engine/replaying/recall.ts";

/**
 * An upper bound of the strings that can be in view when they are used, if all calls together have at most `inputTokens`.
 * Keeping a result until a use costs its tokens at each call until then. With the whole history known, the best of these
 * bargains are taken first, the last one in part. A string of several results counts for the cheapest one.
 */
export function clairvoyantRecall(
	history: ReplayHistory,
	{ inputTokens, kind }: { readonly inputTokens: number; readonly kind: "identifiers" | "lines" },
): number {
	const { results } = history;
	const nextCall = callsAfter(history);
	const gains = new Map<number, Map<number, number>>();
	let inView = 0;
	for (const { call, holders } of usesByCall(history, kind)) {
		const holder = cheapest(holders, results, (place) => call + 1 - (nextCall[place] as number));
		if (holder === undefined) inView += 1;
		else {
			const ofHolder = gains.get(holder) ?? new Map<number, number>();
			gains.set(holder, ofHolder.set(call, (ofHolder.get(call) ?? 0) + 1));
		}
	}
	let room = inputTokens - leastInput(history);
	const bargains = Array.from(gains).flatMap(([place, ofResult]) => {
		const { saves } = results[place] as ReplayResult;
		return bargainsOf(ofResult, (at) => saves * (at + 1 - (nextCall[place] as number)));
	});
	for (const { tokens, strings } of bargains.sort((a, b) => b.strings / b.tokens - a.strings / a.tokens)) {
		inView += strings * Math.min(1, Math.max(0, room) / tokens);
		room -= tokens;
	}
	return inView;
}

function cheapest(holders: Taken["holders"], results: readonly ReplayResult[], age: (place: number) => number) {
	let best: number | undefined;
	let least = Number.POSITIVE_INFINITY;
	for (const place of holders) {
		const { saves } = results[place] as ReplayResult;
		if (saves === 0) return undefined;
		const tokens = saves * age(place);
		if (tokens <= least) {
			least = tokens;
			best = place;
		}
	}
	return best;
}

interface Bargain {
	readonly tokens: number;
	readonly strings: number;
}

/** The bargains of keeping a result longer and longer: the upper hull of its uses, in order of calls, over its cost. */
function bargainsOf(gains: ReadonlyMap<number, number>, tokensUntil: (call: number) => number): Bargain[] {
	const corners = [{ tokens: 0, strings: 0 }];
	let strings = 0;
	for (const [call, gain] of gains) {
		strings += gain;
		const point = { tokens: tokensUntil(call), strings };
		for (;;) {
			const [a, b] = corners.slice(-2);
			if (!a || !b) break;
			const isAbove =
				(b.strings - a.strings) * (point.tokens - b.tokens) > (point.strings - b.strings) * (b.tokens - a.tokens);
			if (isAbove) break;
			corners.pop();
		}
		corners.push(point);
	}
	return corners.slice(1).map((corner, index) => {
		const from = corners[index] as Bargain;
		return { tokens: corner.tokens - from.tokens, strings: corner.strings - from.strings };
	});
}

function leastInput({ calls, messageTokens, results, firstResult, surroundingTokens }: ReplayHistory): number {
	let sum = 0;
	let tokens = surroundingTokens;
	let index = 0;
	for (const call of calls) {
		for (; index < call; index += 1) {
			tokens += messageTokens[index] as number;
			for (let place = firstResult[index] as number; place < (firstResult[index + 1] as number); place += 1) {
				tokens -= (results[place] as ReplayResult).saves;
			}
		}
		sum += tokens;
	}
	return sum;
}
