import type { Draft, Shorten } from "./draft.ts";
import type { TruncationBudget } from "./truncation-types.ts";

/** Tries at a size whose tokens come near the budget. */
const tries = 9;
/** Share of the budget from which on a try is near enough. */
const near = 0.98;
/** Characters from which the tokens of a character are first guessed. */
const guessed = 8_000;

/** Shortens a text over its budget to at most that budget, in tokens as near to it as nine tries come. */
export function fitBudget(text: string, shorten: Shorten, budget: TruncationBudget): Draft {
	const shorter = text.length - 1;
	if (budget.unit === "chars") return shorten(Math.min(budget.max, shorter));
	const { max, countTokens } = budget;
	const sample = text.length <= guessed ? text : text.slice(0, guessed / 2) + text.slice(-guessed / 2);
	const perToken = sample.length / Math.max(1, countTokens(sample));
	let [low, high] = [0, shorter + 1];
	let best: Draft | undefined;
	let size = Math.min(shorter, Math.ceil(max * perToken));
	for (let attempt = 0; attempt < tries && size > low && size < high; attempt += 1) {
		const draft = shorten(size);
		const tokens = countTokens(draft.text);
		if (tokens <= max) {
			best = draft;
			low = size;
			if (tokens >= max * near) break;
		} else high = size;
		const aimed = Math.floor((size * max * (tokens <= max ? 1 : near)) / Math.max(1, tokens));
		// A draft that does not fill its room tells nothing of how far to go.
		size = aimed > low && aimed < high ? aimed : Math.floor((low + high) / 2);
	}
	if (best) return best;
	for (let less = Math.min(high - 1, shorter); less > 0; less = Math.floor(less / 2)) {
		const draft = shorten(less);
		if (countTokens(draft.text) <= max) return draft;
	}
	return { text: "", kept: [], notices: [] };
}
