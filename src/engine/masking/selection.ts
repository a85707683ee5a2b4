import type { MaskPolicy, Prices } from "../policy/schema.ts";
import { foreseenCalls, ruleOf } from "./cadence.ts";
import { addedToFault, startFaultCosts } from "./fault-cost.ts";
import type { ReplayHistory, ReplayResult, View } from "./history.ts";

/**
 * Results that the window, a tool's rule or its last K keep, and errors that are not resolved, stay; by use, what people
 * answered and the instructions of skills in use stay too, unless a rule names their tool. By age all others
 * may go; by use those whose room in the next calls costs more than the faults that masking them is expected to cause.
 * With `oldestFirst`, for a provider that can clear only the oldest, they go up to one of these, all others before it among
 * them; by use up to where their room costs most more than their faults.
 */
export function startSelector(
	history: ReplayHistory,
	how: {
		readonly mask: MaskPolicy;
		readonly prices: Prices;
		readonly addedToFault?: number | undefined;
		readonly oldestFirst?: boolean | undefined;
		/** With what masking saves now; by default always the same. */
		readonly view?: Pick<View, "saves" | "isHeld"> | undefined;
	},
) {
	const { results, firstResult, opensTurn } = history;
	const { mask: policy, prices, oldestFirst = false } = how;
	const calls = foreseenCalls(prices, policy.selection);
	// The other cadences act at fixed turns, where a masked history must stay unchanged: reasoning that goes with a masking is no use.
	const learns = policy.cadence === "break_even";
	const seen = learns ? history : { ...history, uses: history.lastingUses };
	const risk = {
		prices,
		learns,
		calls,
		addedToFault: how.addedToFault ?? addedToFault(policy, prices),
		isHeld: how.view?.isHeld,
	};
	const costs = policy.selection === "use" ? startFaultCosts(seen, risk) : undefined;
	const saves = how.view?.saves ?? Float64Array.from(results, (result) => result.saves);
	const rules = results.map(({ toolName }) => ruleOf(policy, toolName));
	const isAlways = Uint8Array.from(rules, (rule) => (rule === "always" ? 1 : 0));
	/** Saved by masking a result, in the next calls. */
	const savingOf = (place: number) => prices.cache_read * calls * (saves[place] as number);
	const gains = saves.map((tokens) => prices.cache_read * calls * tokens);
	/** For each result, how many results of its tool came before it; and how many of each tool came. */
	const numbers = new Int32Array(results.length);
	const ofTool = new Map<string | undefined, number>();
	let turns = 0;
	let next = 0;
	/** Results that must stay for now, oldest first. */
	let kept: number[] = [];
	/** Results that may be masked, oldest first. */
	let old: number[] = [];

	const add = (place: number) => {
		const { turn, toolName } = results[place] as ReplayResult;
		const rule = rules[place];
		if (turn === undefined || rule === "never") return;
		if (oldestFirst && isNeverCleared(results[place] as ReplayResult, policy)) return;
		numbers[place] = ofTool.get(toolName) ?? 0;
		ofTool.set(toolName, (numbers[place] as number) + 1);
		if ((results[place] as ReplayResult).saves !== 0 || oldestFirst) kept.push(place);
	};
	const isKept = (place: number) => {
		const { turn = 0, toolName, staysUntil, usedUntil } = results[place] as ReplayResult;
		const rule = rules[place];
		if (turns - turn <= (rule === "always" ? 1 : policy.window_turns) || staysUntil >= next) return true;
		if (rule === "always") return false;
		if (rule === undefined && policy.selection === "use" && usedUntil >= next) return true;
		const latest = typeof rule === "object" ? rule.keep_last : (policy.keep_last_k_per_tool ?? 0);
		return (ofTool.get(toolName) as number) - (numbers[place] as number) <= latest;
	};
	/** The agent asks for it from some message on, when the result may have been released. */
	const isKeptByAgent = (place: number) => {
		const { kept: { from, until } = never } = results[place] as ReplayResult;
		return from < next && until >= next;
	};
	const keepsAny = results.some((one) => one.kept !== undefined);
	const released = () => (keepsAny ? releasedByRules().filter((place) => !isKeptByAgent(place)) : releasedByRules());
	const releasedByRules = (): readonly number[] => {
		const added = kept.filter((place) => !isKept(place));
		if (added.length === 0) return old;
		kept = kept.filter(isKept);
		const isInOrder = (added[0] as number) > (old.at(-1) ?? -1);
		for (const place of added) old.push(place);
		if (!isInOrder) old.sort((a, b) => a - b);
		return old;
	};
	/** The results that go if the newest of the released results does, oldest first. */
	const upToReleased = (): readonly number[] => {
		const last = released().at(-1);
		return last === undefined ? old : [...old, ...kept].filter((place) => place <= last).sort((a, b) => a - b);
	};
	const gainNow = (place: number) => {
		const gain = savingOf(place) - (costs?.costOf(place) ?? 0);
		gains[place] = gain;
		return gain;
	};

	return {
		/** Tool turns so far. */
		turns: () => turns,
		/** The tokens that masking a candidate saves in the next calls. */
		gainOf: (place: number) => gains[place] as number,
		/** Adds the next message. */
		append(message: number): void {
			const end = firstResult[message + 1] as number;
			for (let place = firstResult[message] as number; place < end; place += 1) add(place);
			turns += opensTurn[message] as number;
			next = message + 1;
			costs?.append(message);
		},
		/** All results that nothing keeps, oldest first. */
		released: oldestFirst ? upToReleased : released,
		/** The released results whose masking saves something, oldest first. */
		candidates(): readonly number[] {
			const places = this.released();
			if (costs === undefined) return places;
			if (oldestFirst) return places.slice(0, endOfLargestSum(places.map(gainNow)));
			return places.filter((place) => gainNow(place) > 0 || isAlways[place] === 1);
		},
		/** Removes results that were masked. */
		drop(masked: readonly number[]): void {
			const gone = new Set(masked);
			old = old.filter((place) => !gone.has(place));
			kept = kept.filter((place) => !gone.has(place));
			costs?.drop(masked);
		},
	};
}

const never = { from: Number.POSITIVE_INFINITY, until: -1 };

/** The number of items at the start whose sum is the largest. */
function endOfLargestSum(numbers: readonly number[]): number {
	let [sum, largest, end] = [0, 0, 0];
	for (const [index, number] of numbers.entries()) {
		sum += number;
		if (sum <= largest) continue;
		largest = sum;
		end = index + 1;
	}
	return end;
}

/** Whether no result of the tool is cleared: a rule says so, or by use, a person answered or the tool loads skills. */
export function isNeverCleared(
	{ toolName, usedUntil }: Pick<ReplayResult, "toolName" | "usedUntil">,
	policy: MaskPolicy,
): boolean {
	const rule = ruleOf(policy, toolName);
	return rule === "never" || (rule === undefined && policy.selection === "use" && usedUntil !== -1);
}

export type Selector = ReturnType<typeof startSelector>;
