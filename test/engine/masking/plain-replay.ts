import { startBreakEven } from "../../../src/engine/masking/cadence.ts";
import { type ReplayHistory, startView, walk } from "../../../src/engine/masking/history.ts";
import type { Uses } from "../../../src/engine/masking/uses.ts";
import type { Policy } from "../../../src/engine/policy/schema.ts";
import { plainCold } from "./plain-cold.ts";

/** A history with what a selection by use goes by. */
export interface PlainHistory {
	readonly history: ReplayHistory;
	readonly uses: Uses;
	readonly stale: readonly (number | undefined)[];
}

/**
 * What may go before the message at `index`, by the rules of selection alone: everything that came is looked at anew,
 * and nothing is remembered but what is gone.
 */
function plainCandidates(given: PlainHistory, { mask }: Policy, index: number, gone: ReadonlySet<number>): number[] {
	const { history } = given;
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
		const { turn = 0, toolName, staysUntil = -1, usedUntil = -1 } = history.results[place] ?? {};
		if (staysUntil >= index) return true;
		if (mask.selection === "use" && ruleOf(toolName) === undefined && usedUntil >= index) return true;
		if (ruleOf(toolName) === "always") return turn >= turns - 1;
		return turn >= turns - mask.window_turns || latest(toolName).includes(place);
	};
	return maskable.filter((place) => !isYoung(place));
}

/** When each result was masked so far. */
interface Now {
	readonly index: number;
	readonly schedule: readonly number[];
}

/** How often an average tool's results are needed again. */
const [rate, evidence] = [0.1, 100];
const aversions = { low: 36_000, medium: 16_000, high: 3_000 };

/** Reads that rewriting a token costs, where 11.5 count as 1. */
const rewriting = ({ input, cache_read, cache_write }: Policy["prices"]) =>
	Math.min(10, Math.max(0.25, (Math.min(cache_write, 1.25 * input) - cache_read) / cache_read / 11.5));

/** What masking a result saves in the next calls, all of it worked out from nothing. */
function plainGain(
	given: PlainHistory,
	{ mask, prices }: Pick<Policy, "mask" | "prices">,
	{ index, schedule }: Now,
	place: number,
): number {
	const { history, uses, stale } = given;
	const { results, opensTurn } = history;
	const one = results[place] as (typeof results)[number];
	const calls = mask.selection === "age" ? 8 : 8 * rewriting(prices);
	const carrying = prices.cache_read * calls * one.saves;
	const since = stale[place];
	if (mask.selection === "age" || (since !== undefined && since < index)) return carrying;
	const turnsBefore = (end: number) => opensTurn.slice(0, end).reduce((sum, opens) => sum + opens, 0);
	const lastUseBefore = (result: number, end: number) => {
		let last = turnsBefore((results[result]?.message ?? 0) + 1);
		for (let message = 0; message < end; message += 1) {
			const isUsed = uses.touches[message]?.some((touch) => touch.result === result && touch.weight >= 0.3);
			if (isUsed) last = turnsBefore(message + 1);
		}
		return last;
	};
	const ageAt = (result: number, end: number) => Math.max(1, turnsBefore(end) - lastUseBefore(result, end));
	const richness = (result: number) => (1 + (uses.fresh[result] ?? 0)) ** (1 / 5);
	const isOld = (result: number, message: number) => {
		const turn = results[result]?.turn;
		return turn !== undefined && turnsBefore(message) - turn > 1;
	};
	const ofTool = results.flatMap(({ toolName }, result) => (toolName === one.toolName ? [result] : []));
	let [needs, exposure] = [0, 0];
	// Only break-even learns from the conversation.
	const learned = mask.cadence === "break_even" ? index : 0;
	for (let message = 0; message < learned; message += 1) {
		const taken = [...(uses.identifiers[message] ?? []), ...(uses.lines[message] ?? [])];
		const needed = taken.map(({ holders }) => {
			const least = Math.min(...holders.map((holder) => results[holder]?.tokens ?? 0));
			return holders.findLast((holder) => results[holder]?.tokens === least) as number;
		});
		for (const result of new Set(needed)) {
			if (ofTool.includes(result) && isOld(result, message)) needs += 1;
		}
		if (opensTurn[message] !== 1) continue;
		for (const result of ofTool) {
			const { message: came, saves } = results[result] as typeof one;
			const isLive = came < message && saves > 0 && (schedule[result] as number) > message;
			if (isLive && isOld(result, message)) exposure += richness(result) / ageAt(result, message);
		}
	}
	const faults =
		((rate * evidence + needs) / (evidence + exposure)) * richness(place) * Math.log(1 + calls / ageAt(place, index));
	const aversion = aversions[mask.thrift] / rewriting(prices);
	const price = prices.output * 120 + prices.cache_write * one.tokens + prices.input * aversion;
	return carrying - faults * price;
}

/** What `replay` answers, with the selection worked out from nothing at each moment. */
export function plainReplay(
	given: PlainHistory,
	policy: Policy,
	{
		budget = Number.POSITIVE_INFINITY,
		slack = 0,
	}: { readonly budget?: number | undefined; readonly slack?: number } = {},
): number[] {
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
	const gains = new Map<number, number>();
	const gainOf = (place: number) => gains.get(place) ?? 0;
	const rule = startBreakEven(history, { view, prices, selection: mask.selection, gainOf });
	let carried: readonly number[] = [];
	let strides = 0;
	let ceiling = budget;
	const isAlways = (place: number) => {
		const { toolName = "" } = history.results[place] ?? {};
		return Object.hasOwn(mask.tools, toolName) && mask.tools[toolName] === "always";
	};
	const act = (index: number) => {
		const old = plainCandidates(given, policy, index, gone);
		for (const place of old) gains.set(place, plainGain(given, { mask, prices }, { index, schedule }, place));
		const candidates = old.filter((place) => mask.selection === "age" || isAlways(place) || gainOf(place) > 0);
		const least = old.reduce((total, place) => total - (history.results[place]?.saves ?? 0), view.total());
		const passed = prices.steps.map(({ over }) => over).filter((over) => view.total() > over && least <= over);
		const isOverBudget = view.total() > ceiling;
		const isTooMuch = isOverBudget || passed.length > 0;
		const limit = isOverBudget ? budget - slack : 0.8 * Math.min(...passed);
		const turns = history.opensTurn.slice(0, index).reduce((sum, opens) => sum + opens, 0);
		let first = 0;
		if (mask.cadence === "break_even" && candidates.length > 0) first = rule.choose(candidates, isTooMuch);
		if (mask.cadence === "stride") {
			const now = Math.floor((turns - mask.window_turns) / mask.stride_turns);
			if (now <= strides && !isTooMuch) first = candidates.length;
			strides = Math.max(strides, now);
		}
		carried = candidates.slice(0, first);
		const hide = (place: number) => {
			schedule[place] = index;
			gone.add(place);
			view.mask(place);
		};
		candidates.slice(first).forEach(hide);
		if (isTooMuch && mask.selection === "use") {
			const over = old.filter((place) => {
				const isOver = !gone.has(place) && view.total() > limit;
				if (isOver) hide(place);
				return isOver;
			});
			carried = carried.filter((place) => !gone.has(place));
			rule.masked(over, carried);
		}
		if (isOverBudget) ceiling = Math.max(budget, view.total() + slack);
	};
	walk(history, {
		beforeAnswer: act,
		call: () => rule.called(view.call(), carried),
		append: view.append,
	});
	// The plain window also counts a turn that the history ends with.
	if (mask.cadence === "every_turn" && mask.selection === "age") act(history.transcript.messages.length);
	return schedule;
}
