import { budgetOfSelection, patienceOf, startBreakEven } from "../../src/masking/cadence.ts";
import { type ReplayHistory, startView, walk } from "../../src/masking/history.ts";
import type { Staleness } from "../../src/masking/staleness.ts";
import type { Uses } from "../../src/masking/uses.ts";
import type { Policy } from "../../src/policy/schema.ts";
import { plainCold } from "./plain-cold.ts";

/** A history with what a selection by use goes by. */
export interface PlainHistory {
	readonly history: ReplayHistory;
	readonly uses: Uses;
	readonly stale: readonly (Staleness | undefined)[];
}

/**
 * What may go before the message at `index`, by the rules of selection alone: everything that came is looked at anew,
 * and nothing is remembered but what is gone.
 */
function plainCandidates(given: PlainHistory, { mask }: Policy, index: number, gone: ReadonlySet<number>): number[] {
	const { history, uses, stale } = given;
	const turnsBefore = (end: number) => history.opensTurn.slice(0, end).reduce((sum, opens) => sum + opens, 0);
	const turns = turnsBefore(index);
	const ruleOf = (name = "") => (Object.hasOwn(mask.tools, name) ? mask.tools[name] : undefined);
	const came = history.results.flatMap(({ message }, place) => (message < index ? [place] : []));
	const latest = (name: string | undefined) => {
		const rule = ruleOf(name);
		const k = typeof rule === "object" ? rule.keep_last : (mask.keep_last_k_per_tool ?? 0);
		const places = came.filter((place) => {
			const { turn, toolName } = history.results[place] ?? {};
			return turn !== undefined && toolName === name;
		});
		return k === 0 ? [] : places.slice(-k);
	};
	const maskable = came.filter((place) => {
		const { saves = 0, toolName } = history.results[place] ?? {};
		return saves > 0 && !gone.has(place) && ruleOf(toolName) !== "never";
	});
	const isYoung = (place: number) => {
		const { turn = 0, toolName, staysUntil = -1 } = history.results[place] ?? {};
		if (staysUntil >= index) return true;
		if (ruleOf(toolName) === "always") return turn >= turns - 1;
		return turn >= turns - mask.window_turns || latest(toolName).includes(place);
	};
	const savesOf = (place: number) => history.results[place]?.saves ?? 0;
	const old = maskable.filter((place) => !isYoung(place));
	const budget = budgetOfSelection(mask);
	if (budget === 0) return old;
	const worth = (place: number) => {
		if (mask.selection === "age") return place;
		const since = stale[place];
		if (since && since.reason !== "edited" && since.from < index) return -1;
		let lastUse = turnsBefore(history.results[place]?.message ?? 0);
		for (let message = 0; message < index; message += 1) {
			const used = uses.touches[message]?.some(({ result, weight }) => result === place && weight >= 0.3);
			if (used) lastUse = turnsBefore(message + 1);
		}
		return Math.sqrt(1 + (uses.fresh[place] ?? 0)) / (turns - lastUse + 1);
	};
	let room = budget - maskable.filter(isYoung).reduce((sum, place) => sum + savesOf(place), 0);
	const ranked = old.map((place) => ({ place, worth: worth(place) }));
	ranked.sort((a, b) => b.worth - a.worth || b.place - a.place);
	const leaving = ranked.filter(({ place, worth }) => {
		const isAlways = ruleOf(history.results[place]?.toolName) === "always";
		if (worth < 0 || isAlways || savesOf(place) > room) return true;
		room -= savesOf(place);
		return false;
	});
	return leaving.map(({ place }) => place).sort((a, b) => a - b);
}

/** What `replay` answers, with the selection worked out from nothing at each moment. */
export function plainReplay(given: PlainHistory, policy: Policy, budget = Number.POSITIVE_INFINITY): number[] {
	const { mask } = policy;
	const { messages } = given.history.transcript;
	const seconds = policy.prices.cache_seconds;
	const cold = Uint8Array.from({ length: messages.length + 1 }, (_, end) =>
		plainCold(given.history, end, seconds) ? 1 : 0,
	);
	const history = { ...given.history, cold };
	const isHour = messages.find(({ role }) => role === "assistant")?.usage?.cacheSeconds === 3_600;
	const prices = isHour ? { ...policy.prices, cache_write: 2 } : policy.prices;
	const schedule = history.results.map(() => Number.POSITIVE_INFINITY);
	const view = startView(history);
	const gone = new Set<number>();
	const rule = startBreakEven(history, { view, prices, patience: patienceOf(mask) });
	let carried: readonly number[] = [];
	let strides = 0;
	const act = (index: number) => {
		const candidates = plainCandidates(given, policy, index, gone);
		const isTooMuch = view.total() > budget;
		const turns = history.opensTurn.slice(0, index).reduce((sum, opens) => sum + opens, 0);
		let first = 0;
		if (mask.cadence === "break_even" && candidates.length > 0) first = rule.choose(candidates, isTooMuch);
		if (mask.cadence === "stride") {
			const now = Math.floor((turns - mask.window_turns) / mask.stride_turns);
			if (now <= strides && !isTooMuch) first = candidates.length;
			strides = Math.max(strides, now);
		}
		carried = candidates.slice(0, first);
		for (const place of candidates.slice(first)) {
			schedule[place] = index;
			gone.add(place);
			view.mask(place);
		}
	};
	walk(history, {
		beforeAnswer: act,
		call: () => rule.called(view.call(), carried),
		append: view.append,
	});
	// The plain window also counts a turn that the history ends with.
	if (mask.cadence === "every_turn" && budgetOfSelection(mask) === 0) act(history.transcript.messages.length);
	return schedule;
}
