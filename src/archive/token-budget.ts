import type { CountTokens } from "../conversation/measure.ts";
import { onCharacter } from "./text-bytes.ts";

/** More characters than any token has: the longest of o200k_base are 128 spaces. */
export const longestToken = 128;

/** A token may span the place where two texts meet. Text that is this many characters away hardly changes it. */
const neighbourhood = 1000;

/** A budget for joined texts, each counted with its neighbourhood only; `fitWhole` counts the result once more. */
export function createTokenBudget(options: {
	readonly maxTokens: number;
	readonly countTokens: CountTokens;
	readonly grows: "forwards" | "backwards";
}) {
	const { maxTokens, countTokens, grows } = options;
	let left = maxTokens;
	let neighbour = "";
	const joined = (text: string) => (grows === "forwards" ? neighbour + text : text + neighbour);
	const cost = (text: string) => countTokens(joined(text)) - countTokens(neighbour);
	const partOf = (text: string, length: number): string => {
		if (grows === "forwards") return text.slice(0, onCharacter(text, length));
		return text.slice(onCharacter(text, text.length - length, 1));
	};

	const take = (text: string): boolean => {
		// Text that cannot fit is not counted.
		if (text.length > left * longestToken) return false;
		const tokens = cost(text);
		if (tokens > left) return false;
		left -= tokens;
		neighbour = grows === "forwards" ? joined(text).slice(-neighbourhood) : joined(text).slice(0, neighbourhood);
		return true;
	};

	const takeSome = (text: string): string => {
		let best = "";
		let fits = 0;
		let tooLong = Math.min(text.length, left * longestToken) + 1;
		let next = Math.min(left * 4, tooLong - 1);
		// Grows, then halves the step: a text much longer than the budget is never counted whole.
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
	};

	const fitWhole = (text: string): string =>
		countTokens(text) <= maxTokens ? text : createTokenBudget(options).takeSome(text);
	return { take, takeSome, fitWhole };
}
