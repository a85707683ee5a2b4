import type { MaskPolicy } from "../policy/schema.ts";
import { budgetOfSelection, ruleOf } from "./cadence.ts";
import type { ReplayHistory, ReplayResult } from "./history.ts";

/** Least weight of a use that counts: that of a string that three results hold. */
const leastWeight = 0.3;

/**
 * Results that the window, a tool's rule or its last K keep, and unresolved errors, stay; of the others, as many of the
 * best as fit `keep_tokens`: by age the newest; by use those with most identifiers of their own for their size and the
 * latest use. Outdated results are worth nothing.
 */
export function startSelector(history: ReplayHistory, policy: MaskPolicy) {
	const { results, firstResult, opensTurn } = history;
	const budget = budgetOfSelection(policy);
	const byUse = policy.selection === "use";
	const uses = byUse ? history.uses() : undefined;
	const stale = byUse ? history.stale() : undefined;
	const lastUse = new Int32Array(results.length);
	const saves = Float64Array.from(results, (result) => result.saves);
	const rules = results.map(({ toolName }) => ruleOf(policy, toolName));
	const richness = Float64Array.from(results, (_, place) => Math.sqrt(1 + (uses?.fresh[place] ?? 0)));
	const worths = new Float64Array(results.length);
	const isGone = new Uint8Array(results.length);
	const isLeaving = new Uint8Array(results.length);
	/** For each result, how many results of its tool came before it; and how many of each tool came. */
	const numbers = new Int32Array(results.length);
	const ofTool = new Map<string | undefined, number>();
	let turns = 0;
	let next = 0;
	let kept: number[] = [];
	let old: number[] = [];
	/** The best first, in the order of the last ranking. */
	let ranked: number[] = [];

	const add = (place: number) => {
		const { turn, toolName } = results[place] as ReplayResult;
		const rule = rules[place];
		if (turn === undefined || rule === "never") return;
		numbers[place] = ofTool.get(toolName) ?? 0;
		ofTool.set(toolName, (numbers[place] as number) + 1);
		if (saves[place] !== 0) kept.push(place);
	};
	const isKept = (place: number) => {
		const { turn = 0, toolName, staysUntil } = results[place] as ReplayResult;
		const rule = rules[place];
		if (turns - turn <= (rule === "always" ? 1 : policy.window_turns) || staysUntil >= next) return true;
		if (rule === "always") return false;
		const latest = typeof rule === "object" ? rule.keep_last : (policy.keep_last_k_per_tool ?? 0);
		return (ofTool.get(toolName) as number) - (numbers[place] as number) <= latest;
	};
	const worth = (place: number) => {
		if (!byUse) return place;
		const since = stale?.[place];
		// Most lines of an edited file stay the same, and agents continue to use them.
		if (since && since.reason !== "edited" && since.from < next) return -1;
		return (richness[place] as number) / (turns - (lastUse[place] as number) + 1);
	};

	return {
		turns: () => turns,
		append(message: number): void {
			const end = firstResult[message + 1] as number;
			for (let place = firstResult[message] as number; place < end; place += 1) {
				lastUse[place] = turns;
				add(place);
			}
			turns += opensTurn[message] as number;
			next = message + 1;
			for (const { result, weight } of uses?.touches[message] ?? []) {
				if (weight >= leastWeight) lastUse[result] = turns;
			}
		},
		candidates(): readonly number[] {
			const released = kept.filter((place) => !isKept(place));
			kept = kept.filter(isKept);
			const isInOrder = (released[0] ?? Number.POSITIVE_INFINITY) > (old.at(-1) ?? -1);
			for (const place of released) old.push(place);
			if (!isInOrder) old.sort((a, b) => a - b);
			if (budget === 0) return old;
			for (const place of released) ranked.push(place);
			for (const place of ranked) worths[place] = worth(place);
			rank(ranked, worths);
			let room = kept.reduce((left, place) => left - (saves[place] as number), budget);
			for (const place of ranked) {
				const tokens = saves[place] as number;
				const leaves = (worths[place] as number) < 0 || tokens > room || rules[place] === "always";
				isLeaving[place] = leaves ? 1 : 0;
				if (!leaves) room -= tokens;
			}
			return old.filter((place) => isLeaving[place] === 1);
		},
		drop(masked: readonly number[]): void {
			for (const place of masked) isGone[place] = 1;
			old = old.filter((place) => isGone[place] === 0);
			ranked = ranked.filter((place) => isGone[place] === 0);
		},
	};
}

export type Selector = ReturnType<typeof startSelector>;

/** Moves for each place in sorting by insertion; from there on `sort` is faster. */
const mostMoves = 16;

/** Sorts places by their worth, the best and newest first. Their order is nearly that of the last time, so insertion is fast. */
function rank(places: number[], worths: Float64Array): void {
	let moves = mostMoves * places.length;
	for (let index = 1; index < places.length; index += 1) {
		const place = places[index] as number;
		const worth = worths[place] as number;
		let end = index;
		for (; end > 0; end -= 1) {
			const ahead = places[end - 1] as number;
			const better = worths[ahead] as number;
			if (better > worth || (better === worth && ahead > place)) break;
			places[end] = ahead;
		}
		places[end] = place;
		moves -= index - end;
		if (moves < 0) {
			places.sort((a, b) => (worths[b] as number) - (worths[a] as number) || b - a);
			return;
		}
	}
}
