import type { MaskPolicy, Prices } from "../policy/schema.ts";
import { budgetOfSelection, patienceOf, startBreakEven } from "./cadence.ts";
import { type CallTokens, type ReplayHistory, startView, type View, walk } from "./history.ts";
import { type Selector, startSelector } from "./selection.ts";

/**
 * When each result was masked, in the order of `pairResults`: the number of messages that stood before the call that
 * was sent its placeholder first; `Infinity` for those that never were.
 */
export type Schedule = ArrayLike<number>;

/** A policy to replay. */
export interface ReplayPolicy {
	readonly mask: MaskPolicy;
	readonly prices: Prices;
	/** Tokens of the context past which everything goes that may, whatever the cadence. Absent: none. */
	readonly budget?: number | undefined;
	/** Tokens by which a context that stays over the budget grows before everything goes again. Absent: none. */
	readonly slack?: number | undefined;
}

/**
 * Replays a history: lets a policy act at each moment at which an answer may have been asked for, and keeps what it
 * did. What it answers for a history is what it answered for any beginning of it, and what was done since: nothing
 * masked is ever unmasked.
 */
export function replay(
	history: ReplayHistory,
	{ mask, prices, budget = Number.POSITIVE_INFINITY, slack = 0 }: ReplayPolicy,
): Schedule {
	const schedule = new Float64Array(history.results.length).fill(Number.POSITIVE_INFINITY);
	if (!mask.enabled || mask.window_turns <= 0) return schedule;
	const view = startView(history);
	const byUse = mask.selection === "use";
	const selector = startSelector({
		history,
		policy: mask,
		uses: byUse ? history.uses() : undefined,
		stale: byUse ? history.stale() : undefined,
	});
	const cadence = startCadence({ history, mask, prices, view, selector });
	let ceiling = budget;
	const act = (index: number) => {
		const isTooMuch = view.total() > ceiling;
		const leaving = cadence.choose(isTooMuch);
		for (const place of leaving) {
			schedule[place] = index;
			view.mask(place);
		}
		if (leaving.length > 0) selector.drop(leaving);
		if (isTooMuch) ceiling = Math.max(budget, view.total() + slack);
	};
	walk(history, {
		beforeAnswer: act,
		call() {
			cadence.called(view.call());
		},
		append(index) {
			view.append(index);
			selector.append(index);
		},
	});
	// The plain window also counts a turn that the history ends with. What is older than the window stays so, and acting once
	// more changes nothing that a longer history would mask.
	if (mask.cadence === "every_turn" && budgetOfSelection(mask) === 0) act(history.transcript.messages.length);
	return schedule;
}

interface Cadence {
	/** Which results go now, of those that may. */
	readonly choose: (isTooMuch: boolean) => readonly number[];
	readonly called: (tokens: CallTokens) => void;
}

const none: readonly number[] = [];

function startCadence(what: {
	readonly history: ReplayHistory;
	readonly mask: MaskPolicy;
	readonly prices: Prices;
	readonly view: View;
	readonly selector: Selector;
}): Cadence {
	const { history, mask, prices, view, selector } = what;
	switch (mask.cadence) {
		case "every_turn":
			return { choose: () => selector.candidates(), called() {} };
		case "stride": {
			// At fixed turns, counted from the first at which a result is older than the window. They are the same in a
			// history that was masked before, so it is left as it is.
			let strides = 0;
			return {
				choose(isTooMuch) {
					const now = Math.floor((selector.turns() - mask.window_turns) / mask.stride_turns);
					if (now <= strides && !isTooMuch) return none;
					strides = Math.max(strides, now);
					return selector.candidates();
				},
				called() {},
			};
		}
		case "break_even": {
			const rule = startBreakEven(history, { view, prices, patience: patienceOf(mask) });
			let carried = none;
			return {
				choose(isTooMuch) {
					const all = selector.candidates();
					const first = all.length === 0 ? 0 : rule.choose(all, isTooMuch);
					carried = first < all.length ? all.slice(0, first) : all;
					return first < all.length ? all.slice(first) : none;
				},
				called: (tokens) => rule.called(tokens, carried),
			};
		}
	}
}
