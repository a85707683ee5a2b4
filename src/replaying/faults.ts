import { groupBy } from "../conversation/lists.ts";
import { type CallTokens, type ReplayHistory, type ReplayResult, startView, walk } from "../masking/history.ts";
import type { Schedule } from "../masking/replay.ts";

/** How the calls of a replay are priced. Costs are in one unit: prices of an input token, or US dollars. */
export interface CallCosts {
	readonly costOf: (call: CallTokens) => number;
	/** For output of a call with so many tokens of input. */
	readonly costOfOutput: (tokens: number, input: number) => number;
}

/** The faults of a conversation under a schedule, and its bill with all that they cost. */
export interface FaultBill {
	/** LLM calls that needed a masked result. */
	readonly faults: number;
	readonly billed: number;
}

/** Output tokens of a call that recalls results. */
export const outputOfRecall = 120;
/** A recalled result stays in view for at least this many LLM calls. */
export const pinnedCalls = 4;

/**
 * Counts the faults of a schedule (docs/replay.md#faults): calls whose answer uses a string that is only in masked results.
 * A fault costs a call more, which recalls for each such string the smallest result that holds it. A recalled result is
 * sent with every later call, until the schedule masks something at least `pinnedCalls` calls later.
 */
export function meterFaults(
	history: ReplayHistory,
	schedule: Schedule,
	{ costOf, costOfOutput }: CallCosts,
): FaultBill {
	const needed = neededByCall(history, schedule);
	const masked = groupBy(history.results.keys(), (place) => schedule[place]);
	masked.delete(Number.POSITIVE_INFINITY);
	const view = startView(history);
	let copies: Copy[] = [];
	/** Of all copies. */
	let copied = 0;
	let firstChanged = Number.POSITIVE_INFINITY;
	let [faults, billed, call] = [0, 0, 0];
	walk(history, {
		beforeAnswer(index) {
			const places = masked.get(index);
			if (places === undefined) return;
			for (const place of places) view.mask(place);
			const ends = copies.filter((copy) => call - copy.call >= pinnedCalls);
			copies = copies.filter((copy) => call - copy.call < pinnedCalls);
			copied = tokensOf(copies);
			const changed = places.map((place) => (history.results[place] as ReplayResult).message);
			firstChanged = Math.min(firstChanged, ...changed, ...ends.map(({ message }) => message));
		},
		call(index) {
			const { input, cached: unchanged } = view.call();
			const cached = firstChanged < index ? Math.min(unchanged, view.before(firstChanged)) : unchanged;
			const isChanged = firstChanged < Number.POSITIVE_INFINITY;
			const ahead = isChanged ? tokensOf(copies.filter(({ message }) => message <= firstChanged)) : copied;
			const own = { input: input + copied, cached: cached + ahead };
			firstChanged = Number.POSITIVE_INFINITY;
			billed += costOf(own);
			const missing = missingResults(needed[call] ?? [], { copies, results: history.results });
			if (missing.length > 0) {
				const recalled = missing.map((place) => copyOf(history, place, { message: index, call }));
				faults += 1;
				billed += costOfOutput(outputOfRecall, own.input);
				billed += costOf({ input: own.input + tokensOf(recalled), cached: own.input });
				copies.push(...recalled);
				copied += tokensOf(recalled);
			}
			call += 1;
		},
		append: view.append,
	});
	return { faults, billed };
}

/** A recalled result. It is sent right before the message at `message`. */
interface Copy {
	readonly place: number;
	readonly message: number;
	/** Place in `calls` of the call that recalled it. */
	readonly call: number;
	readonly tokens: number;
}

function copyOf({ results }: ReplayHistory, place: number, at: Pick<Copy, "message" | "call">): Copy {
	return { ...at, place, tokens: (results[place] as ReplayResult).tokens };
}

function tokensOf(copies: readonly Copy[]): number {
	return copies.reduce((sum, { tokens }) => sum + tokens, 0);
}

/** For each call, the holders of each string that its answer uses and that only masked results hold. */
function neededByCall({ calls, uses }: ReplayHistory, schedule: Schedule): (readonly number[])[][] {
	const needed: (readonly number[])[][] = calls.map(() => []);
	for (const ofKind of [uses().identifiers, uses().lines]) {
		let call = -1;
		ofKind.forEach((ofMessage, message) => {
			if (calls[call + 1] === message) call += 1;
			const moment = calls[call] ?? 0;
			for (const { holders } of ofMessage) {
				if (holders.every((place) => (schedule[place] as number) <= moment)) needed[call]?.push(holders);
			}
		});
	}
	return needed;
}

function missingResults(
	needed: readonly (readonly number[])[],
	{ copies, results }: { readonly copies: readonly Copy[]; readonly results: readonly ReplayResult[] },
): number[] {
	const size = (place: number) => (results[place] as ReplayResult).tokens;
	const missing = needed
		.filter((holders) => !holders.some((place) => copies.some((copy) => copy.place === place)))
		.map((holders) => holders.reduce((best, place) => (size(place) <= size(best) ? place : best)));
	return [...new Set(missing)];
}
