import type { MaskPolicy } from "../policy/schema.ts";
import { budgetOfSelection, ruleOf } from "./cadence.ts";
import type { ReplayHistory, ReplayResult } from "./history.ts";
import type { Staleness } from "./staleness.ts";
import type { Uses } from "./uses.ts";

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

/** The results that must stay for now. Each leaves them once, when the last reason to stay is gone. */
export interface Young {
	/** Takes up that a result has come. */
	readonly add: (place: number) => void;
	/** Takes up that a message has come, which may settle errors. */
	readonly settle: (message: number) => void;
	/** Those that need not stay any longer after so many tool turns, oldest first; they are no longer young. */
	readonly takeGrown: (turns: number) => readonly number[];
	/** Tokens that masking all young ones would save. */
	readonly tokens: () => number;
}

/**
 * Starts with none. Of those that come, the ones that cannot be masked, or that a tool's rule keeps for good, are left out.
 * All that comes and goes takes time in proportion to the number of results.
 */
export function startYoung({ results }: ReplayHistory, policy: MaskPolicy): Young {
	/** How many reasons each result has to stay. */
	const reasons = new Uint8Array(results.length);
	const windows = [startWindow(policy.window_turns), startWindow(1)] as const;
	const latest = startLatest(policy);
	const unsettled = new Map<number, number[]>();
	let grown: number[] = [];
	let tokens = 0;
	const release = (place: number) => {
		// Some of the last K of a tool cannot be masked.
		if (reasons[place] === 0) return;
		reasons[place] = (reasons[place] as number) - 1;
		if (reasons[place] === 0) grown.push(place);
	};
	return {
		add(place) {
			const { turn, toolName, saves, staysUntil, message } = results[place] as ReplayResult;
			const rule = ruleOf(policy, toolName);
			if (turn === undefined || rule === "never") return;
			const isAmongLatest = rule !== "always" && latest.add(place, toolName, release);
			if (saves === 0) return;
			tokens += saves;
			reasons[place] = 1 + (isAmongLatest ? 1 : 0) + (staysUntil < message ? 0 : 1);
			windows[rule === "always" ? 1 : 0].add(place, turn);
			if (staysUntil < message) return;
			const settled = unsettled.get(staysUntil);
			if (settled) settled.push(place);
			else unsettled.set(staysUntil, [place]);
		},
		settle(message) {
			for (const place of unsettled.get(message) ?? []) release(place);
		},
		takeGrown(turns) {
			for (const window of windows) window.release(turns, release);
			const taken = grown.sort((a, b) => a - b);
			for (const place of taken) tokens -= (results[place] as ReplayResult).saves;
			grown = [];
			return taken;
		},
		tokens: () => tokens,
	};
}

/** The results of the last turns. */
function startWindow(turnsKept: number) {
	const byTurn: number[][] = [];
	/** Results whose turn had passed when they came. */
	let late: number[] = [];
	let passed = 0;
	return {
		add(place: number, turn: number) {
			if (turn < passed) late.push(place);
			else if (byTurn[turn]) byTurn[turn].push(place);
			else byTurn[turn] = [place];
		},
		release(turns: number, release: (place: number) => void) {
			late.forEach(release);
			late = [];
			for (; passed < turns - turnsKept; passed += 1) byTurn[passed]?.forEach(release);
		},
	};
}

/** The last K results of each tool, where the policy keeps them. */
function startLatest(policy: MaskPolicy) {
	const byTool = new Map<string | undefined, { readonly places: number[]; first: number }>();
	return {
		/** Answers whether the result is kept; releases the one in whose place it is. */
		add(place: number, toolName: string | undefined, release: (place: number) => void): boolean {
			const rule = ruleOf(policy, toolName);
			const k = typeof rule === "object" ? rule.keep_last : (policy.keep_last_k_per_tool ?? 0);
			if (k === 0) return false;
			const kept = byTool.get(toolName) ?? { places: [], first: 0 };
			byTool.set(toolName, kept);
			kept.places.push(place);
			if (kept.places.length - kept.first > k) {
				release(kept.places[kept.first] as number);
				kept.first += 1;
			}
			return true;
		},
	};
}
