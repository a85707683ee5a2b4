import { once } from "../conversation/lists.js";
import { terms } from "./cadence.js";
import { startSelector } from "./selection.js";

/** Calls from one look to the next. They are counted from the start of a history, so masking does not move them. */
const callsBetween = 10;
/** Times the usual patience: what stands between two messages counts for less than it is. */
const strictness = { age: 4, use: 2 };
/**
 * The part of `break_even` that decides by what masking leaves in a conversation, for histories with placeholders: what
 * their maskings cost is not in them, nor what agents took from the masked results. It looks at fixed calls, counts each
 * result as large as its placeholder and leaves reasoning out that an edit may take out. So for each result that stays, the
 * gain of masking it is at most the same in the masked history, and the cost is equal: a result that is not masked now is
 * not masked then.
 */
export function startOverdue(history, how) {
	const { cache_read: read, cache_write: write, output, thinking_redone: redoneShare } = how.prices;
	const { patience, leastFreed } = terms[how.mask.selection];
	// A masked history may have lost its reasoning: a turn is taken to have had as much as its results free.
	const redone = how.bindsReasoning ? output * redoneShare : 0;
	const rewriting = strictness[how.mask.selection] * patience * Math.max(0, write - read);
	const results = history.results;
	const waste = new Float64Array(results.length);
	// At fixed turns a selection learns nothing from the history, nor from reasoning that a masking takes out.
	const mask = { ...how.mask, cadence: "stride" };
	const selector = once(() => startSelector(history, { ...how, mask }));
	const tokensBefore = once(() => lastingTokensBefore(history));
	let appended = 0;
	let calls = 0;
	let sent = 0;
	let carried = [];
	const isLook = () => calls > 0 && calls % callsBetween === 0;
	return {
		/** The results that are masked before the message at `index`, oldest first. */
		choose(index, stays) {
			if (!isLook()) return [];
			for (; appended < index; appended += 1) selector().append(appended);
			const places = selector().candidates().filter(stays);
			const { gainOf } = selector();
			const before = tokensBefore();
			let best = places.length;
			let bestGain = 0;
			let freed = 0;
			let gains = 0;
			for (let first = places.length - 1; first >= 0; first -= 1) {
				const place = places[first];
				const { message, saves } = results[place];
				freed += saves;
				gains += Math.max(0, waste[place] + gainOf(place) - redone * saves);
				const rewritten = Math.max(0, before[sent] - before[message]);
				const gain = gains - rewriting * rewritten;
				if (freed < leastFreed || gain <= bestGain) continue;
				best = first;
				bestGain = gain;
			}
			carried = places.slice(0, best);
			return places.slice(best);
		},
		/** A call was made, after so many messages. */
		called(messages) {
			if (isLook()) {
				for (const place of carried) {
					waste[place] = waste[place] + callsBetween * read * results[place].saves;
				}
			}
			calls += 1;
			sent = messages;
		},
	};
}
/** Tokens before each message and before the end, without what a masking may take out. */
function lastingTokensBefore({ messageTokens, looseTokens, results }) {
	const lasting = Float64Array.from(messageTokens);
	looseTokens().forEach((tokens, message) => {
		lasting[message] = lasting[message] - tokens;
	});
	for (const { message, saves } of results) lasting[message] = lasting[message] - saves;
	const before = new Float64Array(lasting.length + 1);
	lasting.forEach((tokens, message) => {
		before[message + 1] = before[message] + tokens;
	});
	return before;
}
