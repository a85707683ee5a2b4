/** Tokens of messages in order, any of which may shrink, with sums from the first message on. */
export interface TokenPrefixes {
	/** Adds tokens to a message; fewer than none takes some off. */
	readonly add: (message: number, tokens: number) => void;
	/** Tokens of all messages before one. */
	readonly before: (message: number) => number;
}

/** Starts with all messages empty. Each of both takes time in proportion to the logarithm of `length` (a Fenwick tree). */
export function startPrefixes(length: number): TokenPrefixes {
	const sums = new Float64Array(length + 1);
	return {
		add(message, tokens) {
			for (let index = message + 1; index <= length; index += index & -index) {
				sums[index] = (sums[index] as number) + tokens;
			}
		},
		before(message) {
			let sum = 0;
			for (let index = message; index > 0; index -= index & -index) sum += sums[index] as number;
			return sum;
		},
	};
}
