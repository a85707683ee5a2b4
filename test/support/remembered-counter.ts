import type * as LoadCounter from "../../src/tokens/load-counter.ts";

/**
 * The real counter with a memory of texts, for tests that measure the same conversation many times. Use it as
 * the factory of a `vi.mock` of tokens/load-counter.ts.
 */
export async function rememberCounts(importOriginal: () => Promise<unknown>): Promise<typeof LoadCounter> {
	const { loadCounter } = (await importOriginal()) as typeof LoadCounter;
	const counts = new Map<string, number>();
	return {
		async loadCounter(encoding) {
			const countTokens = await loadCounter(encoding);
			return (text) => {
				const key = `${encoding} ${text}`;
				const known = counts.get(key);
				if (known !== undefined) return known;
				const count = countTokens(text);
				counts.set(key, count);
				return count;
			};
		},
	};
}
