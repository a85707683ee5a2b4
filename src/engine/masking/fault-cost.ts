import type { MaskPolicy, Prices } from "../policy/schema.ts";
import type { ReplayHistory, ReplayResult } from "./history.ts";
import type { Taken, Uses } from "./uses.ts";

/** Least weight of a touch that counts: that of a string that three results hold. */
const leastWeight = 0.3;

/**
 * How often a result is needed again in a turn: `rate × fifth root of (1 + its fresh identifiers) / turns since its last
 * use`, for an average tool. A conversation replaces the rate of each tool by its own, as if it had seen `evidence` of the
 * average one before. docs/evidence.md shows how well these two numbers hold on other sources.
 */
const average = { rate: 0.1, evidence: 100 };

/** Output tokens of the call that recalls a result. */
export const outputOfRecall = 120;

/** Input tokens added to the price of a fault, in addition to the answer that recalls and the repeated result, at the usual prices. */
const addedToFaults: Readonly<Record<MaskPolicy["thrift"], number>> = { low: 36_000, medium: 16_000, high: 3_000 };

export function addedToFault({ thrift }: Pick<MaskPolicy, "thrift">, prices: Prices): number {
	return addedToFaults[thrift] / costOfRewriting(prices);
}

/** Reads that rewriting a cached token costs, where a read costs 0.1 of the input price and a write 1.25. */
const usualRewriting = 11.5;
/** A write to a cache of five minutes, × the input price. */
const usualWrite = 1.25;
const [least, most] = [0.25, 10];

/**
 * How many reads it costs to rewrite a cached token, by the usual number. Where they are many, masking pays late, looks further ahead
 * and takes a greater risk; so a thrift has about as many faults at all prices (docs/evidence.md#masking).
 */
export function costOfRewriting({ input, cache_read, cache_write }: Prices): number {
	// A write to a cache of an hour costs more, but taking more risk for it does not pay (docs/evidence.md#other-peoples-sessions).
	const write = Math.min(cache_write, usualWrite * input);
	const reads = cache_read === 0 ? Number.POSITIVE_INFINITY : (write - cache_read) / cache_read;
	return Math.min(most, Math.max(least, reads / usualRewriting));
}

/**
 * Estimates the cost of masking a result too early, while a history is walked through: how likely the next `calls` calls
 * need it, times the price of recalling it. With `learns`, the history tells how often results of each tool are needed
 * again. A masked history tells less, so that masking it again may mask more; without `learns` it never does.
 */
export function startFaultCosts(
	history: ReplayHistory,
	how: {
		readonly prices: Prices;
		readonly learns: boolean;
		readonly calls: number;
		readonly addedToFault: number;
		/** Whether lines of others point to a result, which is then needed also if its call came again. */
		readonly isHeld?: ((place: number) => boolean) | undefined;
	},
) {
	const { results, firstResult, opensTurn } = history;
	const { learns, calls, addedToFault, isHeld = () => false } = how;
	const { input, cache_write: write, output } = how.prices;
	const uses = history.uses();
	// Every result that stays is looked at in each turn: lists of numbers are much faster than results.
	const turnOf = Float64Array.from(results, ({ turn }) => turn ?? Number.NaN);
	const staleFrom = Float64Array.from(history.stale(), (from) => from ?? Number.POSITIVE_INFINITY);
	const richness = Float64Array.from(results, (_, place) => (1 + (uses.fresh[place] ?? 0)) ** 0.2);
	/** The price of a fault, times the richness. */
	const stakes = Float64Array.from(results, ({ tokens }, place) => {
		const price = output * outputOfRecall + write * tokens + input * addedToFault;
		return (richness[place] as number) * price;
	});
	/** By age. */
	const likelihoods = Float64Array.from({ length: opensTurn.length + 1 }, (_, age) =>
		Math.log1p(calls / Math.max(1, age)),
	);
	const lastUse = new Int32Array(results.length);
	const tools = new Map<string | undefined, number>();
	const toolOf = Int32Array.from(results, ({ toolName }) => {
		const tool = tools.get(toolName) ?? tools.size;
		tools.set(toolName, tool);
		return tool;
	});
	/** How often the results of each tool were needed again, and how often an average tool's would be, by its rate. */
	const needs = new Float64Array(tools.size);
	const exposure = new Float64Array(tools.size);
	const { rate, evidence } = average;
	let live: number[] = [];
	let turns = 0;
	let next = 0;
	/** Whether a result is older than the turn that is under way: no policy masks it sooner. */
	const isOld = (place: number) => turns - (turnOf[place] as number) > 1;
	const add = (counts: Float64Array, place: number, count: number) => {
		const tool = toolOf[place] as number;
		counts[tool] = (counts[tool] as number) + count;
	};
	const learn = (message: number) => {
		for (const place of neededBy(history, message)) if (isOld(place)) add(needs, place, 1);
		if (opensTurn[message] !== 1) return;
		for (const place of live) {
			const age = Math.max(1, turns - (lastUse[place] as number));
			if (isOld(place)) add(exposure, place, (richness[place] as number) / age);
		}
	};

	return {
		/** Adds the next message. */
		append(message: number): void {
			next = message + 1;
			if (learns) learn(message);
			turns += opensTurn[message] as number;
			for (const { result, weight } of uses.touches[message] as Uses["touches"][number]) {
				if (weight >= leastWeight) lastUse[result] = turns;
			}
			for (let place = firstResult[message] as number; place < (firstResult[message + 1] as number); place += 1) {
				lastUse[place] = turns;
				if ((results[place] as ReplayResult).saves > 0) live.push(place);
			}
		},
		/** The expected cost of masking a result now. */
		costOf(place: number): number {
			if ((staleFrom[place] as number) < next && !isHeld(place)) return 0;
			const tool = toolOf[place] as number;
			const now = (rate * evidence + (needs[tool] as number)) / (evidence + (exposure[tool] as number));
			return now * (stakes[place] as number) * (likelihoods[turns - (lastUse[place] as number)] as number);
		},
		/** Removes results that were masked. */
		drop(masked: readonly number[]): void {
			const gone = new Set(masked);
			live = live.filter((place) => !gone.has(place));
		},
	};
}

/** The results that a message needs: for each string that it takes from results, the smallest that holds it. */
function neededBy({ results, uses }: ReplayHistory, message: number): Set<number> {
	const { identifiers, lines } = uses();
	const taken = [identifiers, lines].flatMap((ofMessages) => ofMessages[message] as readonly Taken[]);
	return new Set(taken.map(({ holders }) => smallestOf(holders, results)));
}

/** The result with the fewest tokens, the latest of several. */
export function smallestOf(places: readonly number[], results: readonly ReplayResult[]): number {
	const tokensOf = (place: number) => (results[place] as ReplayResult).tokens;
	return places.reduce((best, place) => (tokensOf(place) <= tokensOf(best) ? place : best));
}
