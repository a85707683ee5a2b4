import type * as LoadCounter from "../../src/tokens/load-counter.ts";

/**
 * The real counter with a memory of texts, for tests that measure the same conversation many times. Use it as
 * the factory of a `vi.mock` of tokens/load-counter.ts.
 */
export async function rememberCounts(importOriginal: () => Promise<unknown>): Promise<typeof LoadCounter> {
	const { loadCounter } = (await importOriginal()) as typeof LoadCounter;
	const ofEncodings = new Map<string, Map<string, number>>();
	return {
		async loadCounter(encoding) {
			const countTokens = await loadCounter(encoding);
			const counts = ofEncodings.get(encoding) ?? new Map<string, number>();
			ofEncodings.set(encoding, counts);
			return (text) => {
				const known = counts.get(text);
				if (known !== undefined) return known;
				const count = countTokens(text);
				counts.set(text, count);
				return count;
			};
		},
	};
}
