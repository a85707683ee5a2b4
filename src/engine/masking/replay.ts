import type { TokenMeter } from "../conversation/measure.ts";
import type { MaskPolicy, Prices } from "../policy/schema.ts";
import { cacheSecondsOf, pricesFor } from "./cache-time.ts";
import { startBreakEven } from "./cadence.ts";
import { type CallTokens, type ReplayHistory, type ReplayResult, startView, type View, walk } from "./history.ts";
import { startOverdue } from "./overdue.ts";
import { type Selector, startSelector } from "./selection.ts";

/** The share of a price step or a window that is filled after masking because of it, so that the next calls stay below it. */
export const roomLeft = 0.8;

/** For each result, the number of messages before the first call with its placeholder; `Infinity` for never. */
export type Schedule = ArrayLike<number>;

export interface Replaying {
	readonly meter: TokenMeter;
	/** Price steps are in tokens of the history. */
	readonly prices: Prices;
	/** Tokens of the context above which all candidates are masked, whatever the cadence. */
	readonly budget?: number | undefined;
	/** Tokens by which a context that stays over the budget grows before all are masked again. */
	readonly slack?: number | undefined;
	/** Seconds since the last call. */
	readonly idleSeconds?: number | undefined;
	/** Numbers of messages at which the provider's cache had expired, so that masking was free: then all candidates go. */
	readonly coldAt?: ReadonlySet<number> | undefined;
	/**
	 * When each result was masked in the sent requests. These results are masked at these moments, at the latest at the end of
	 * the history; everything else is decided at its end. The cadence counts the maskings that were sent, and no others.
	 */
	readonly sent?: Schedule | undefined;
	/**
	 * With `sent`, whether the call at the end of the history was made already. All of it is then in the cache, and what is
	 * decided at the end is for the call after it.
	 */
	readonly isForwarded?: boolean | undefined;
	/** Whether nothing is remembered of a history, so what was masked may come back: it then has to stay as it is. */
	readonly forgets?: boolean | undefined;
	/** Whether the model accepts reasoning only after unchanged messages; as `readHistory` has it. */
	readonly bindsReasoning?: boolean | undefined;
	/** Whether a provider clears the results, which can take only the oldest and makes no reasoning invalid. */
	readonly oldestFirst?: boolean | undefined;
	/** Input tokens that a fault counts as, in addition to its cost. By default as many as `thrift` says. */
	readonly addedToFault?: number | undefined;
}

/** The schedule of a history extends that of its beginning and of `sent`: nothing masked is ever unmasked. */
export function replay(
	whole: ReplayHistory,
	how: Omit<Replaying, "meter" | "idleSeconds"> & { readonly mask: MaskPolicy },
): Schedule {
	const { mask, budget = Number.POSITIVE_INFINITY, slack = 0, coldAt, addedToFault, oldestFirst } = how;
	const history = oldestFirst ? { ...whole, reasoning: undefined } : whole;
	const end = history.transcript.messages.length;
	const schedule = new Float64Array(history.results.length).fill(Number.POSITIVE_INFINITY);
	const sent = how.sent && sentMaskings(history, how.sent);
	for (const { place, moment } of sent ?? []) schedule[place] = moment;
	if (!mask.enabled || mask.window_turns <= 0) return schedule;
	const prices = pricesFor(how.prices, cacheSecondsOf(history.transcript.messages, how.prices));
	// A forwarded call at the end was not cold because the next one may be.
	const isColdAt = (index: number) => coldAt?.has(index) === true && !(how.isForwarded && index === end);
	const cold = history.cold.map((one, index) => (isColdAt(index) ? 1 : one));
	const view = startView({ ...history, cold }, prices.thinking_redone);
	const selector = startSelector(history, { mask, prices, addedToFault, oldestFirst, view });
	const cadence = startCadence({ history, mask, prices, view, selector, oldestFirst });
	const forgets = how.forgets === true && mask.cadence === "break_even" && !oldestFirst;
	const { bindsReasoning } = how;
	const overdue = forgets ? startOverdue(history, { mask, prices, addedToFault, bindsReasoning }) : undefined;
	// From a placeholder on, it is not known what the history has cost.
	const knownUntil = forgets ? firstMessageOf(history.masked, history) : Number.POSITIVE_INFINITY;
	let ceiling = budget;
	let nextSent = 0;
	const act = (index: number) => {
		const wasTooMuch = view.total() > ceiling;
		const isRepeated = repeatSent(index);
		const isTooMuch = view.total() > ceiling;
		const step = isTooMuch ? undefined : stepToAvoid();
		if (sent && how.isForwarded && index === end) called(index);
		if (!sent || index === end) {
			const mustAct = isTooMuch || step !== undefined || coldAt?.has(index) === true;
			if (mustAct || index <= knownUntil) hide(cadence.choose(mustAct), index);
			if ((isTooMuch || step !== undefined) && mask.selection === "use") {
				const over = oldestOver(step === undefined ? budget - slack : roomLeft * step);
				hide(over, index);
				cadence.masked(over);
			}
		}
		const late = overdue?.choose(index, stays) ?? none;
		hide(late, index);
		if (late.length > 0) cadence.masked(late);
		// A context over the budget in which nothing was masked is still to be reduced.
		if (sent ? wasTooMuch && isRepeated : isTooMuch) ceiling = Math.max(budget, view.total() + slack);
	};
	const stays = (place: number) => schedule[place] === Number.POSITIVE_INFINITY;
	const called = (index: number) => {
		cadence.called(view.call());
		overdue?.called(index);
	};
	/** The lowest price step that the next call passes, and that it does not pass with all masked that may be. */
	const stepToAvoid = () => {
		const total = view.total();
		const passed = prices.steps.flatMap(({ over }) => (total > over ? [over] : []));
		if (passed.length === 0) return undefined;
		const least = selector.released().reduce((sum, place) => sum - (view.saves[place] as number), total);
		const avoidable = passed.filter((over) => least <= over);
		return avoidable.length === 0 ? undefined : Math.min(...avoidable);
	};
	/** Masks the results that were sent masked by this moment; returns whether there were any. */
	const repeatSent = (index: number) => {
		if (!sent) return false;
		const places: number[] = [];
		for (let next = sent[nextSent]; next !== undefined && next.moment <= index; next = sent[nextSent]) {
			nextSent += 1;
			places.push(next.place);
		}
		hide(places, index);
		cadence.masked(places);
		return places.length > 0;
	};
	const hide = (leaving: readonly number[], index: number) => {
		for (const place of leaving) {
			schedule[place] = Math.min(schedule[place] as number, index);
			view.mask(place);
		}
		if (leaving.length > 0) selector.drop(leaving);
	};
	/** The oldest results without which the context is within a number of tokens, however likely they are needed. */
	const oldestOver = (tokens: number) => {
		let excess = view.total() - tokens;
		return selector.released().filter((place) => {
			const isExcess = excess > 0;
			excess -= view.saves[place] as number;
			return isExcess;
		});
	};
	walk(history, {
		beforeAnswer: act,
		call: called,
		append(index) {
			view.append(index);
			selector.append(index);
		},
	});
	// The plain window also counts a turn at the end of the history. A longer history masks the same results, later.
	if (mask.cadence === "every_turn" && mask.selection === "age") act(end);
	repeatSent(end);
	return schedule;
}

function firstMessageOf(places: ReadonlySet<number>, { results }: ReplayHistory): number {
	const messages = Array.from(places, (place) => (results[place] as ReplayResult).message);
	return messages.reduce((first, message) => Math.min(first, message), Number.POSITIVE_INFINITY);
}

interface SentMasking {
	readonly place: number;
	readonly moment: number;
}

/** Lists the maskings in the order of their moments: after the result came, and at the latest at the end. */
function sentMaskings({ transcript, results }: ReplayHistory, sent: Schedule): readonly SentMasking[] {
	const end = transcript.messages.length;
	const maskings = results.flatMap(({ message }, place): SentMasking[] => {
		const moment = sent[place] ?? Number.POSITIVE_INFINITY;
		if (moment === Number.POSITIVE_INFINITY) return [];
		return [{ place, moment: Math.min(end, Math.max(message + 1, moment)) }];
	});
	return maskings.sort((one, other) => one.moment - other.moment || one.place - other.place);
}

const none: readonly number[] = [];

/** `choose` returns the candidates that are masked now. */
function startCadence(what: {
	readonly history: ReplayHistory;
	readonly mask: MaskPolicy;
	readonly prices: Prices;
	readonly view: View;
	readonly selector: Selector;
	readonly oldestFirst: boolean | undefined;
}) {
	const { history, mask, prices, view, selector, oldestFirst } = what;
	const isBreakEven = mask.cadence === "break_even";
	const { selection } = mask;
	const { gainOf } = selector;
	const rule = isBreakEven ? startBreakEven(history, { view, prices, selection, gainOf, oldestFirst }) : undefined;
	/** At fixed turns, from the first at which a result is older than the window: the same in a masked history. */
	const stride = () => Math.floor((selector.turns() - mask.window_turns) / mask.stride_turns);
	let strides = 0;
	let carried = none;
	return {
		choose(isTooMuch: boolean): readonly number[] {
			if (mask.cadence === "stride") {
				const now = stride();
				if (now <= strides && !isTooMuch) return none;
				strides = Math.max(strides, now);
			}
			const all = selector.candidates();
			if (!rule) return all;
			const first = rule.choose(all, isTooMuch);
			carried = first < all.length ? all.slice(0, first) : all;
			return first < all.length ? all.slice(first) : none;
		},
		/** These were masked, not by a choice. All other candidates stay until the next choice. */
		masked(places: readonly number[]): void {
			carried = selector.candidates();
			const isPassed = places.length > 0 || carried.length === 0;
			if (mask.cadence === "stride" && isPassed) strides = Math.max(strides, stride());
			rule?.masked(places, carried);
		},
		called(tokens: CallTokens): void {
			rule?.called(tokens, carried);
		},
	};
}
