import type { CountMethod, TokenEstimate } from "../tokens/estimate-tokens.ts";

/** How the numbers of tokens in a report came about. */
export interface CountingReport {
	/** The encoding that was counted in. */
	readonly encoding: string;
	readonly method: CountMethod;
	/** What each counted token was multiplied by; 1 where they are the model's own. */
	readonly factor: number;
}

export function countingReport({ encoding, method, scale }: TokenEstimate): CountingReport {
	return { encoding, method, factor: scale.factor };
}
