import { groupBy } from "../conversation/lists.ts";
import { outputOfRecall, smallestOf } from "../masking/fault-cost.ts";
import { type CallTokens, type ReplayHistory, type ReplayResult, startView, walk } from "../masking/history.ts";
import { callsInView } from "../masking/in-use.ts";
import type { Schedule } from "../masking/replay.ts";
import { usesByCall, wholeResults } from "./recall.ts";

/** How the calls of a replay are priced. Costs are in one unit: prices of an input token, or US dollars. */
export interface CallCosts {
	readonly costOf: (call: CallTokens) => number;
	/** For output of a call with so many tokens of input. */
	readonly costOfOutput: (tokens: number, input: number) => number;
	/** The share of invalid reasoning that is produced once more; by default none. */
	readonly thinkingRedone?: number | undefined;
}

/** The faults of a conversation under a schedule, and its bill with all that they cost. */
interface FaultBill {
	/** LLM calls that needed a masked result, or what was cut from one. */
	readonly faults: number;
	readonly billed: number;
}

/**
 * Counts the faults of a schedule (docs/measure.md#faults): calls whose answer uses a string that is only in masked results,
 * or was only in what was cut.
 * A fault costs a call more, which recalls for each such string the smallest result that holds it.
 */
export function meterFaults(
	history: ReplayHistory,
	schedule: Schedule,
	{ costOf, costOfOutput, thinkingRedone }: CallCosts,
): FaultBill {
	const results = wholeResults(history);
	const needed = neededByCall(history, schedule);
	const masked = groupBy(history.results.keys(), (place) => schedule[place]);
	const view = startView(history, thinkingRedone);
	let copies: Copy[] = [];
	let [faults, billed, call] = [0, 0, 0];
	walk(history, {
		beforeAnswer(index) {
			for (const place of masked.get(index) ?? []) view.mask(place);
		},
		call() {
			copies = copies.filter((copy) => call - copy.call <= callsInView);
			const { input: own, cached, redone = 0 } = view.call();
			const copied = tokensOf(copies);
			const input = own + copied;
			const isOwn = call >= (history.copied ?? 0);
			if (isOwn) billed += costOf({ input, cached: cached + copied });
			if (isOwn && redone > 0) billed += costOfOutput(redone, input);
			const recalled = missingResults(needed[call] as (readonly number[])[], { copies, results }).map((place) => {
				return { place, call, tokens: (results[place] as ReplayResult).tokens };
			});
			copies.push(...recalled);
			if (isOwn && recalled.length > 0) {
				faults += 1;
				billed += costOfOutput(outputOfRecall, input);
				billed += costOf({ input: input + tokensOf(recalled), cached: input });
			}
			call += 1;
		},
		append: view.append,
	});
	return { faults, billed };
}

/** A recalled result. */
interface Copy {
	readonly place: number;
	/** Place in `calls` of the call that recalled it. */
	readonly call: number;
	readonly tokens: number;
}

function tokensOf(copies: readonly Copy[]): number {
	return copies.reduce((sum, { tokens }) => sum + tokens, 0);
}

/** For each call, the holders of each string that its answer uses and that is not in view. */
function neededByCall(history: ReplayHistory, schedule: Schedule): (readonly number[])[][] {
	const { calls } = history;
	const needed: (readonly number[])[][] = calls.map(() => []);
	for (const { call, holders, shownBy } of [...usesByCall(history, "identifiers"), ...usesByCall(history, "lines")]) {
		const isMissing = shownBy.every((place) => (schedule[place] as number) <= (calls[call] as number));
		if (isMissing) (needed[call] as (readonly number[])[]).push(holders);
	}
	return needed;
}

function missingResults(
	needed: readonly (readonly number[])[],
	{ copies, results }: { readonly copies: readonly Copy[]; readonly results: readonly ReplayResult[] },
): number[] {
	const missing = needed
		.filter((holders) => !holders.some((place) => copies.some((copy) => copy.place === place)))
		.map((holders) => smallestOf(holders, results));
	return [...new Set(missing)];
}
