import type { MaskPolicy } from "../../policy/schema.ts";
import type { Staleness } from "../use/staleness.ts";
import type { ReplayHistory, ReplayResult } from "./history.ts";
import { budgetOfSelection } from "./thrift.ts";
import { ruleOf } from "./tool-rule.ts";
import type { Uses } from "./uses.ts";
import { startYoung } from "./young.ts";

/** Says which results may go, while a history is walked through. */
export interface Selector {
	/** Takes the next message up. */
	readonly append: (message: number) => void;
	/** The results that may go now, oldest first. */
	readonly candidates: () => readonly number[];
	/** Takes up that results are gone. */
	readonly drop: (masked: readonly number[]) => void;
	/** Tool turns so far. */
	readonly turns: () => number;
}

/** What a selection needs to know. */
export interface SelectorParameters {
	readonly history: ReplayHistory;
	readonly policy: MaskPolicy;
	/** Needed for the selection by use, as is `stale`. */
	readonly uses?: Uses | undefined;
	readonly stale?: readonly (Staleness | undefined)[] | undefined;
}

/** How much of a result an answer must have used for it to count as come back to: a string that three results hold. */
const leastWeight = 0.3;

/**
 * Starts a selection. Results that the window, a tool's rule or its last K keep, or that are errors not settled yet, are
 * young; those older may go, but for as many of the best as fit `keep_tokens`. By age the best are the newest. By use they
 * are those that hold most identifiers of their own for their size and were come back to last; what is out of date is
 * worth nothing. What may go is ranked each time it is asked for; all else takes time in proportion to the history.
 */
export function startSelector({ history, policy, uses, stale }: SelectorParameters): Selector {
	const { results, firstResult, opensTurn } = history;
	const young = startYoung(history, policy);
	const budget = budgetOfSelection(policy);
	const isKept = policy.window_turns <= 0;
	const lastUse = new Int32Array(results.length);
	const richness = Float64Array.from(results, (_, place) => Math.sqrt(1 + (uses?.fresh[place] ?? 0)));
	const worths = new Float64Array(results.length);
	const isGone = new Uint8Array(results.length);
	let turns = 0;
	let next = 0;
	let old: number[] = [];

	const worth = (place: number) => {
		if (policy.selection === "age") return place;
		const since = stale?.[place];
		// Of a file that was edited since, most lines are as they were: agents go on to use them.
		if (since && since.reason !== "edited" && since.from < next) return -1;
		return (richness[place] as number) / (turns - (lastUse[place] as number) + 1);
	};

	return {
		turns: () => turns,
		append(message) {
			const end = firstResult[message + 1] as number;
			for (let place = firstResult[message] as number; place < end; place += 1) {
				lastUse[place] = turns;
				young.add(place);
			}
			young.settle(message);
			turns += opensTurn[message] as number;
			next = message + 1;
			for (const { result, weight } of uses?.touches[message] ?? []) {
				if (weight >= leastWeight) lastUse[result] = turns;
			}
		},
		candidates() {
			if (isKept) return [];
			const grown = young.takeGrown(turns);
			if (budget === 0) {
				const isInOrder = (grown[0] ?? 0) >= (old.at(-1) ?? 0);
				old.push(...grown);
				if (!isInOrder) old.sort(ascending);
				return old;
			}
			// In the order of the last time, which is nearly that of this time: sorting then takes few steps.
			old.push(...grown);
			for (const place of old) worths[place] = worth(place);
			old.sort((a, b) => (worths[b] as number) - (worths[a] as number) || b - a);
			let room = budget - young.tokens();
			const leaving = old.filter((place) => {
				const { saves, toolName } = results[place] as ReplayResult;
				if ((worths[place] as number) < 0 || saves > room || ruleOf(policy, toolName) === "always") return true;
				room -= saves;
				return false;
			});
			return leaving.sort(ascending);
		},
		drop(masked) {
			for (const place of masked) isGone[place] = 1;
			old = old.filter((place) => isGone[place] === 0);
		},
	};
}

function ascending(a: number, b: number): number {
	return a - b;
}
