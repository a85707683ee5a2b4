import type { MaskPolicy, Prices } from "../policy/schema.ts";
import type { ReplayHistory, ReplayResult } from "./history.ts";

/** Least weight of a touch that counts: that of a string that three results hold. */
const leastWeight = 0.3;

/**
 * How often a result is needed again in a turn: `rate × fifth root of (1 + its fresh identifiers) / turns since its last
 * use`, for an average tool. A conversation replaces the rate of each tool by its own, as if it had seen `evidence` of the
 * average one before. docs/evidence.md shows how well these two numbers hold on other sources.
 */
const average = { rate: 0.07, evidence: 100 };

/** Output tokens of the call that recalls a result. */
export const outputOfRecall = 120;

/** Input tokens added to the price of a fault, beside the answer that recalls and the result that comes again. */
const aversion: Readonly<Record<MaskPolicy["thrift"], number>> = { low: 43_000, medium: 14_000, high: 4_000 };

/**
 * Estimates the cost of masking a result too early, while a history is walked through: how likely the next `calls` calls
 * need it, times the price of recalling it. With `learns`, the history tells how often results of each tool are needed
 * again. A masked history tells less, so that masking it again may mask more; without `learns` it never does.
 */
export function startFaultCosts(
	history: ReplayHistory,
	how: { readonly prices: Prices; readonly thrift: MaskPolicy["thrift"]; readonly learns: boolean },
) {
	const { results, firstResult, opensTurn } = history;
	const { thrift, learns } = how;
	const { input, cache_write: write, output } = how.prices;
	const uses = history.uses();
	// Every result that stays is looked at in each turn: lists of numbers are much faster than results.
	const turnOf = Float64Array.from(results, ({ turn }) => turn ?? Number.NaN);
	const priceOf = Float64Array.from(
		results,
		({ tokens }) => output * outputOfRecall + write * tokens + input * aversion[thrift],
	);
	// Most lines of an edited file stay the same, and agents continue to use them.
	const staleFrom = Float64Array.from(history.stale(), (since) =>
		since === undefined || since.reason === "edited" ? Number.POSITIVE_INFINITY : since.from,
	);
	const richness = Float64Array.from(results, (_, place) => (1 + (uses.fresh[place] ?? 0)) ** 0.2);
	const lastUse = new Int32Array(results.length);
	const tools = new Map<string | undefined, ToolUse>();
	const toolOf = results.map(({ toolName }) => {
		const tool = tools.get(toolName) ?? { needs: 0, exposure: 0 };
		tools.set(toolName, tool);
		return tool;
	});
	let live: number[] = [];
	let turns = 0;
	let next = 0;
	/** Whether a result is older than the turn that is under way: no policy masks it sooner. */
	const isOld = (place: number) => turns - (turnOf[place] as number) > 1;
	const ageOf = (place: number) => Math.max(1, turns - (lastUse[place] as number));

	return {
		/** Adds the next message. */
		append(message: number): void {
			next = message + 1;
			for (const place of neededBy(history, message)) {
				if (isOld(place)) (toolOf[place] as ToolUse).needs += 1;
			}
			if (opensTurn[message] === 1) {
				for (const place of live) {
					if (isOld(place)) (toolOf[place] as ToolUse).exposure += (richness[place] as number) / ageOf(place);
				}
				turns += 1;
			}
			for (const { result, weight } of uses.touches[message] ?? []) {
				if (weight >= leastWeight) lastUse[result] = turns;
			}
			for (let place = firstResult[message] as number; place < (firstResult[message + 1] as number); place += 1) {
				lastUse[place] = turns;
				if ((results[place] as ReplayResult).saves > 0) live.push(place);
			}
		},
		/** The expected cost of masking a result now, over so many calls. */
		costOf(place: number, calls: number): number {
			if ((staleFrom[place] as number) < next) return 0;
			const { needs, exposure } = learns ? (toolOf[place] as ToolUse) : notLearned;
			const rate = (average.rate * average.evidence + needs) / (average.evidence + exposure);
			const faults = rate * (richness[place] as number) * Math.log1p(calls / ageOf(place));
			return faults * (priceOf[place] as number);
		},
		/** Removes results that were masked. */
		drop(masked: readonly number[]): void {
			const gone = new Set(masked);
			live = live.filter((place) => !gone.has(place));
		},
	};
}

/** How often the results of a tool were needed again, and how often an average tool's would be, divided by its rate. */
interface ToolUse {
	needs: number;
	exposure: number;
}

const notLearned: ToolUse = { needs: 0, exposure: 0 };

/** The results that a message needs: for each string that it takes from results, the smallest that holds it. */
function neededBy({ results, uses }: ReplayHistory, message: number): Set<number> {
	const { identifiers, lines } = uses();
	const taken = [...(identifiers[message] ?? []), ...(lines[message] ?? [])];
	return new Set(taken.map(({ holders }) => smallestOf(holders, results)));
}

/** The result with the fewest tokens, the latest of several. */
export function smallestOf(places: readonly number[], results: readonly ReplayResult[]): number {
	const tokensOf = (place: number) => (results[place] as ReplayResult).tokens;
	return places.reduce((best, place) => (tokensOf(place) <= tokensOf(best) ? place : best));
}
