import { cacheSecondsOf, pricesFor } from "./cache-time.js";
import { startBreakEven } from "./cadence.js";
import { startView, walk } from "./history.js";
import { startOverdue } from "./overdue.js";
import { startSelector } from "./selection.js";
/** The share of a price step or a window that is filled after masking because of it, so that the next calls stay below it. */
export const roomLeft = 0.8;
/** The schedule of a history extends that of its beginning and of `sent`: nothing masked is ever unmasked. */
export function replay(whole, how) {
	const { mask, budget = Number.POSITIVE_INFINITY, slack = 0, coldAt, addedToFault, oldestFirst } = how;
	const history = oldestFirst ? { ...whole, reasoning: undefined } : whole;
	const end = history.transcript.messages.length;
	const schedule = new Float64Array(history.results.length).fill(Number.POSITIVE_INFINITY);
	const sent = how.sent && sentMaskings(history, how.sent);
	for (const { place, moment } of sent ?? []) schedule[place] = moment;
	if (!mask.enabled || mask.window_turns <= 0) return schedule;
	const prices = pricesFor(how.prices, cacheSecondsOf(history.transcript.messages, how.prices));
	// A forwarded call at the end was not cold because the next one may be.
	const isColdAt = (index) => coldAt?.has(index) === true && !(how.isForwarded && index === end);
	const cold = history.cold.map((one, index) => (isColdAt(index) ? 1 : one));
	const view = startView({ ...history, cold }, prices.thinking_redone);
	const selector = startSelector(history, { mask, prices, addedToFault, oldestFirst });
	const cadence = startCadence({ history, mask, prices, view, selector, oldestFirst });
	const forgets = how.forgets === true && mask.cadence === "break_even" && !oldestFirst;
	const { bindsReasoning } = how;
	const overdue = forgets ? startOverdue(history, { mask, prices, addedToFault, bindsReasoning }) : undefined;
	// From a placeholder on, it is not known what the history has cost.
	const knownUntil = forgets ? firstMessageOf(history.masked, history) : Number.POSITIVE_INFINITY;
	let ceiling = budget;
	let nextSent = 0;
	const act = (index) => {
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
	const stays = (place) => schedule[place] === Number.POSITIVE_INFINITY;
	const called = (index) => {
		cadence.called(view.call());
		overdue?.called(index);
	};
	/** The lowest price step that the next call passes, and that it does not pass with all masked that may be. */
	const stepToAvoid = () => {
		const total = view.total();
		const passed = prices.steps.flatMap(({ over }) => (total > over ? [over] : []));
		if (passed.length === 0) return undefined;
		const least = selector.released().reduce((sum, place) => sum - history.results[place].saves, total);
		const avoidable = passed.filter((over) => least <= over);
		return avoidable.length === 0 ? undefined : Math.min(...avoidable);
	};
	/** Masks the results that were sent masked by this moment; returns whether there were any. */
	const repeatSent = (index) => {
		if (!sent) return false;
		const places = [];
		for (let next = sent[nextSent]; next !== undefined && next.moment <= index; next = sent[nextSent]) {
			nextSent += 1;
			places.push(next.place);
		}
		hide(places, index);
		cadence.masked(places);
		return places.length > 0;
	};
	const hide = (leaving, index) => {
		for (const place of leaving) {
			schedule[place] = Math.min(schedule[place], index);
			view.mask(place);
		}
		if (leaving.length > 0) selector.drop(leaving);
	};
	/** The oldest results without which the context is within a number of tokens, however likely they are needed. */
	const oldestOver = (tokens) => {
		let excess = view.total() - tokens;
		return selector.released().filter((place) => {
			const isExcess = excess > 0;
			excess -= history.results[place].saves;
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
function firstMessageOf(places, { results }) {
	const messages = Array.from(places, (place) => results[place].message);
	return messages.reduce((first, message) => Math.min(first, message), Number.POSITIVE_INFINITY);
}
/** Lists the maskings in the order of their moments: after the result came, and at the latest at the end. */
function sentMaskings({ transcript, results }, sent) {
	const end = transcript.messages.length;
	const maskings = results.flatMap(({ message }, place) => {
		const moment = sent[place] ?? Number.POSITIVE_INFINITY;
		if (moment === Number.POSITIVE_INFINITY) return [];
		return [{ place, moment: Math.min(end, Math.max(message + 1, moment)) }];
	});
	return maskings.sort((one, other) => one.moment - other.moment || one.place - other.place);
}
const none = [];
/** `choose` returns the candidates that are masked now. */
function startCadence(what) {
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
		choose(isTooMuch) {
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
		masked(places) {
			carried = selector.candidates();
			const isPassed = places.length > 0 || carried.length === 0;
			if (mask.cadence === "stride" && isPassed) strides = Math.max(strides, stride());
			rule?.masked(places, carried);
		},
		called(tokens) {
			rule?.called(tokens, carried);
		},
	};
}
