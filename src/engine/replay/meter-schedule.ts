import type { Prices } from "../../policy/schema.ts";
import type { ReplayHistory, ReplayResult } from "./history.ts";
import type { Schedule } from "./replay.ts";
import { type CallTokens, startView } from "./view.ts";
import { walk } from "./walk.ts";

/** What the calls of a history come to under a schedule. Tokens are those of the history, unscaled. */
export interface Bill {
	/** One for each LLM call, in order. */
	readonly calls: readonly CallTokens[];
	/** Sum over the calls. */
	readonly inputTokens: number;
	/** Those of them that were read from the cache. */
	readonly cachedTokens: number;
	/** What they cost at the prices: `cached × cache_read + (input − cached) × cache_write`. */
	readonly billed: number;
	/** Tokens of the largest call. */
	readonly peakTokens: number;
	/** Results that were masked in the end. */
	readonly maskedResults: number;
}

/** Adds up what each call of a history is sent and costs, where results are masked as a schedule says. */
export function meterSchedule(history: ReplayHistory, schedule: Schedule, prices: Prices): Bill {
	const view = startView(history);
	const calls: CallTokens[] = [];
	const due = resultsByMoment(history.results, schedule);
	walk(history, {
		beforeAnswer(index) {
			for (const place of due.get(index) ?? []) view.mask(place);
		},
		call() {
			calls.push(view.call());
		},
		append: view.append,
	});
	const inputTokens = calls.reduce((sum, call) => sum + call.input, 0);
	const cachedTokens = calls.reduce((sum, call) => sum + call.cached, 0);
	return {
		calls,
		inputTokens,
		cachedTokens,
		billed: cachedTokens * prices.cache_read + (inputTokens - cachedTokens) * prices.cache_write,
		peakTokens: calls.reduce((most, call) => Math.max(most, call.input), 0),
		maskedResults: Array.from(due.values()).reduce((sum, places) => sum + places.length, 0),
	};
}

function resultsByMoment(results: readonly ReplayResult[], schedule: Schedule): ReadonlyMap<number, readonly number[]> {
	const due = new Map<number, number[]>();
	for (let place = 0; place < results.length; place += 1) {
		const moment = schedule[place] as number;
		if (moment === Number.POSITIVE_INFINITY) continue;
		const places = due.get(moment);
		if (places) places.push(place);
		else due.set(moment, [place]);
	}
	return due;
}
