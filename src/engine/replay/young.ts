import type { MaskPolicy } from "../../policy/schema.ts";
import type { ReplayHistory, ReplayResult } from "./history.ts";
import { ruleOf } from "./tool-rule.ts";

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
