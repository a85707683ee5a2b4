import type { MaskPolicy } from "../../policy/schema.ts";
import type { Staleness } from "../use/staleness.ts";
import type { ReplayHistory, ReplayResult } from "./history.ts";
import { budgetOfSelection } from "./thrift.ts";
import type { Uses } from "./uses.ts";

/** Says which results may go, while a history is walked through. */
export interface Selector {
	/** Takes the next message up. */
	readonly append: (message: number) => void;
	/** The results that may go now, oldest first; `index` is that of the next message. */
	readonly candidates: (index: number) => readonly number[];
	/** Takes up that results are gone. */
	readonly drop: (masked: ReadonlySet<number>) => void;
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
 * Starts a selection. Results that the window, a tool's rule or its last K keep, or that are errors not settled yet, are young; those older may go, but for
 * as many of the best as fit `keep_tokens`. By age the best are the newest. By use they are those that hold most
 * identifiers of their own for their size and were come back to last; what is out of date is worth nothing.
 */
export function startSelector({ history, policy, uses, stale }: SelectorParameters): Selector {
	const { results, firstResult, opensTurn } = history;
	let turns = 0;
	let young: number[] = [];
	let old: number[] = [];
	const lastUse = new Int32Array(results.length);
	const richness = results.map((_, place) => Math.sqrt(1 + (uses?.fresh[place] ?? 0)));
	const latest = startLatest(policy);
	const budget = budgetOfSelection(policy);

	const staysYoung = (place: number, index: number) => {
		const { turn = 0, toolName, staysUntil } = results[place] as ReplayResult;
		if (staysUntil >= index) return true;
		const rule = ruleOf(policy, toolName);
		if (rule === "always") return turn >= turns - 1;
		return turn >= turns - policy.window_turns || latest.has(place);
	};
	const worth = (place: number, index: number) => {
		if (policy.selection === "age") return place;
		const since = stale?.[place];
		// Of a file that was edited since, most lines are as they were: agents go on to use them.
		if (since && since.reason !== "edited" && since.from < index) return -1;
		return (richness[place] as number) / (turns - (lastUse[place] as number) + 1);
	};

	return {
		turns: () => turns,
		append(message) {
			const end = firstResult[message + 1] as number;
			for (let place = firstResult[message] as number; place < end; place += 1) {
				const one = results[place] as ReplayResult;
				lastUse[place] = turns;
				if (one.turn !== undefined) latest.add(place, one.toolName);
				if (one.saves > 0 && ruleOf(policy, one.toolName) !== "never") young.push(place);
			}
			turns += opensTurn[message] as number;
			for (const { result, weight } of uses?.touches[message] ?? []) {
				if (weight >= leastWeight) lastUse[result] = turns;
			}
		},
		candidates(index) {
			if (policy.window_turns <= 0) return [];
			const stay: number[] = [];
			let isSorted = true;
			for (const place of young) {
				if (staysYoung(place, index)) stay.push(place);
				else {
					isSorted &&= place > (old.at(-1) ?? -1);
					old.push(place);
				}
			}
			young = stay;
			if (!isSorted) old.sort((a, b) => a - b);
			if (budget === 0) return old;
			let room = budget - young.reduce((sum, place) => sum + (results[place] as ReplayResult).saves, 0);
			const ranked = old.map((place) => ({ place, worth: worth(place, index) }));
			ranked.sort((a, b) => b.worth - a.worth || b.place - a.place);
			const leaving = ranked.filter(({ place, worth }) => {
				const { saves, toolName } = results[place] as ReplayResult;
				if (worth < 0 || ruleOf(policy, toolName) === "always" || saves > room) return true;
				room -= saves;
				return false;
			});
			return leaving.map(({ place }) => place).sort((a, b) => a - b);
		},
		drop(masked) {
			old = old.filter((place) => !masked.has(place));
		},
	};
}

/** The policy's rule for a tool; its name is untrusted. */
function ruleOf({ tools }: MaskPolicy, toolName = "") {
	return Object.hasOwn(tools, toolName) ? tools[toolName] : undefined;
}

/** The last K results of each tool, where the policy keeps them. */
function startLatest(policy: MaskPolicy) {
	const byTool = new Map<string | undefined, number[]>();
	const members = new Set<number>();
	return {
		has: (place: number) => members.has(place),
		add(place: number, toolName: string | undefined) {
			const rule = ruleOf(policy, toolName);
			const k = typeof rule === "object" ? rule.keep_last : (policy.keep_last_k_per_tool ?? 0);
			if (k === 0) return;
			const places = byTool.get(toolName) ?? [];
			byTool.set(toolName, places);
			places.push(place);
			members.add(place);
			if (places.length > k) members.delete(places.shift() as number);
		},
	};
}
