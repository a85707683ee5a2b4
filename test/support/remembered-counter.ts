import type * as Counter from "../../src/formats/tokens/counter.ts";

/**
 * The real counter with a memory of texts, for tests that measure the same conversation many times. Use it as
 * the factory of a `vi.mock` of tokens/counter.ts.
 */
export async function rememberCounts(importOriginal: () => Promise<unknown>): Promise<typeof Counter> {
	const counter = (await importOriginal()) as typeof Counter;
	const ofEncodings = new Map<string, Map<string, number>>();
	return {
		...counter,
		async loadCounter(encoding) {
			const countTokens = await counter.loadCounter(encoding);
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
