import { endOnCharacter } from "../text-bytes.ts";

/** Counts the tokens of a text. */
export type CountTokens = (text: string) => number;

/** More characters than any token has: the longest of o200k_base are 128 spaces. */
export const longestToken = 128;

/** Takes texts until they have a number of tokens together. */
export interface TokenBudget {
	/** Takes a text if it still fits; whether it did. */
	readonly take: (text: string) => boolean;
	/** Takes as much of a text as still fits, on whole characters; answers with what it took. */
	readonly takeSome: (text: string) => string;
}

/** What a budget is made of. */
export interface BudgetOptions {
	readonly maxTokens: number;
	readonly countTokens: CountTokens;
	/** Whether a text comes after those that were taken, or before them. */
	readonly grows: "forwards" | "backwards";
}

/** A token may span the place where two texts meet, but what is this far away, in characters, hardly changes it. */
const neighbourhood = 1000;

/**
 * A budget of tokens for texts that are put together. A text is counted together with its neighbourhood, so that all is
 * not counted again for each; where pieces are very odd, the whole may have a few tokens more.
 */
export function createTokenBudget(options: BudgetOptions): TokenBudget {
	const { maxTokens, countTokens, grows } = options;
	let left = maxTokens;
	let neighbour = "";
	const joined = (text: string) => (grows === "forwards" ? neighbour + text : text + neighbour);
	const cost = (text: string) => countTokens(joined(text)) - countTokens(neighbour);
	const partOf = (text: string, length: number): string => {
		if (grows === "forwards") return text.slice(0, endOnCharacter(text, length));
		const from = text.length - length;
		return text.slice(endOnCharacter(text, from) === from ? from : from + 1);
	};

	const take = (text: string): boolean => {
		// No need to count what cannot fit.
		if (text.length > left * longestToken) return false;
		const tokens = cost(text);
		if (tokens > left) return false;
		left -= tokens;
		neighbour = grows === "forwards" ? joined(text).slice(-neighbourhood) : joined(text).slice(0, neighbourhood);
		return true;
	};

	return {
		take,
		takeSome(text) {
			let best = "";
			let fits = 0;
			let tooLong = Math.min(text.length, left * longestToken) + 1;
			let next = Math.min(left * 4, tooLong - 1);
			// Grows, then halves the step, so that what is counted is never much longer than what fits.
			while (tooLong - fits > 1) {
				const part = partOf(text, next);
				if (cost(part) <= left) {
					best = part;
					fits = next;
				} else {
					tooLong = next;
				}
				next = Math.max(fits + 1, Math.min(fits * 2, Math.floor((fits + tooLong) / 2)));
			}
			return best !== "" && take(best) ? best : "";
		},
	};
}

/** A text that was put together, or as much of it as fits once it is counted whole. */
export function withinBudget(text: string, options: BudgetOptions): string {
	return options.countTokens(text) <= options.maxTokens ? text : createTokenBudget(options).takeSome(text);
}
