import { addToList } from "../conversation/lists.ts";
import type { MaskPolicy } from "../policy/schema.ts";
import { budgetOfSelection, ruleOf } from "./cadence.ts";
import type { ReplayHistory, ReplayResult } from "./history.ts";

/** Least weight of a use that counts: that of a string that three results hold. */
const leastWeight = 0.3;

/**
 * Says which results may be masked while a history is walked through. Results that the window, a tool's rule or its last K
 * keep, and errors that are not resolved, stay; of the others, as many of the best as fit `keep_tokens`. By age the best are
 * the newest. By use they are those that hold most identifiers of their own for their size and were used last; what is out
 * of date is worth nothing. Candidates are ranked each time; all else takes time in proportion to the history.
 */
export function startSelector(history: ReplayHistory, policy: MaskPolicy) {
	const { results, firstResult, opensTurn } = history;
	const kept = startKept(history, policy);
	const budget = budgetOfSelection(policy);
	const byUse = policy.selection === "use";
	const uses = byUse ? history.uses() : undefined;
	const stale = byUse ? history.stale() : undefined;
	const lastUse = new Int32Array(results.length);
	const saves = Float64Array.from(results, (result) => result.saves);
	const isAlways = Uint8Array.from(results, ({ toolName }) => (ruleOf(policy, toolName) === "always" ? 1 : 0));
	const richness = Float64Array.from(results, (_, place) => Math.sqrt(1 + (uses?.fresh[place] ?? 0)));
	const worths = new Float64Array(results.length);
	const isGone = new Uint8Array(results.length);
	const isLeaving = new Uint8Array(results.length);
	let turns = 0;
	let next = 0;
	/** Results that may be masked, oldest first. */
	let old: number[] = [];
	/** The same, the best first, in the order of the last ranking. */
	let ranked: number[] = [];

	const worth = (place: number) => {
		if (!byUse) return place;
		const since = stale?.[place];
		// Most lines of an edited file stay the same, and agents continue to use them.
		if (since && since.reason !== "edited" && since.from < next) return -1;
		return (richness[place] as number) / (turns - (lastUse[place] as number) + 1);
	};

	return {
		/** Tool turns so far. */
		turns: () => turns,
		/** Adds the next message. */
		append(message: number): void {
			const end = firstResult[message + 1] as number;
			for (let place = firstResult[message] as number; place < end; place += 1) {
				lastUse[place] = turns;
				kept.add(place);
			}
			kept.release(message);
			turns += opensTurn[message] as number;
			next = message + 1;
			for (const { result, weight } of uses?.touches[message] ?? []) {
				if (weight >= leastWeight) lastUse[result] = turns;
			}
		},
		/** The results that may be masked now, oldest first. */
		candidates(): readonly number[] {
			const released = kept.takeReleased(turns);
			const isInOrder = (released[0] ?? Number.POSITIVE_INFINITY) > (old.at(-1) ?? -1);
			for (const place of released) old.push(place);
			if (!isInOrder) old.sort((a, b) => a - b);
			if (budget === 0) return old;
			for (const place of released) ranked.push(place);
			for (const place of ranked) worths[place] = worth(place);
			rank(ranked, worths);
			let room = budget - kept.tokens();
			for (const place of ranked) {
				const tokens = saves[place] as number;
				const leaves = (worths[place] as number) < 0 || tokens > room || isAlways[place] === 1;
				isLeaving[place] = leaves ? 1 : 0;
				if (!leaves) room -= tokens;
			}
			return old.filter((place) => isLeaving[place] === 1);
		},
		/** Removes results that were masked. */
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

/**
 * The results that must stay for now. Each is released once, when the last reason to keep it is gone. Results that cannot be
 * masked, or that a tool's rule always keeps, are left out. Takes time in proportion to the number of results.
 */
function startKept({ results }: ReplayHistory, policy: MaskPolicy) {
	/** How many reasons each result has to stay. */
	const reasons = new Uint8Array(results.length);
	const windows = [startWindow(policy.window_turns), startWindow(1)] as const;
	const latest = startLatest(policy);
	/** Errors by the message that resolves them. */
	const errors = new Map<number, number[]>();
	let released: number[] = [];
	let tokens = 0;
	const release = (place: number) => {
		// Some of the last K of a tool cannot be masked.
		if (reasons[place] === 0) return;
		reasons[place] = (reasons[place] as number) - 1;
		if (reasons[place] === 0) released.push(place);
	};
	return {
		add(place: number): void {
			const { turn, toolName, saves, staysUntil, message } = results[place] as ReplayResult;
			const rule = ruleOf(policy, toolName);
			if (turn === undefined || rule === "never") return;
			const isAmongLatest = rule !== "always" && latest.add(place, toolName, release);
			if (saves === 0) return;
			tokens += saves;
			reasons[place] = 1 + (isAmongLatest ? 1 : 0) + (staysUntil < message ? 0 : 1);
			windows[rule === "always" ? 1 : 0].add(place, turn);
			if (staysUntil < message) return;
			addToList(errors, staysUntil, place);
		},
		/** Releases the errors that a message resolves. */
		release(message: number): void {
			for (const place of errors.get(message) ?? []) release(place);
		},
		/** The results that were released until so many tool turns, oldest first, each once. */
		takeReleased(turns: number): readonly number[] {
			for (const window of windows) window.release(turns, release);
			const taken = released.sort((a, b) => a - b);
			for (const place of taken) tokens -= (results[place] as ReplayResult).saves;
			released = [];
			return taken;
		},
		/** Tokens that masking all kept results would save. */
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
