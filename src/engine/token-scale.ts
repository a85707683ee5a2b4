import type { Size } from "./edit.ts";

/** Tokens of a model's own for each token of the encoding that is counted in; all are 1 where that is the model's own. */
export interface TokenScale {
	/** At least. */
	readonly low: number;
	/** By the best guess; not below `low` and not above `high`. */
	readonly factor: number;
	/** At most. */
	readonly high: number;
}

/** The scale of a model whose tokens are counted themselves. */
export const exactScale: TokenScale = { low: 1, factor: 1, high: 1 };

/** Tokens as a model counts them, whole numbers: `low` ≤ `tokens` ≤ `high`. */
export interface ScaledTokens {
	readonly low: number;
	readonly tokens: number;
	readonly high: number;
}

/**
 * The tokens of a size on a scale. What no tokenizer counts is not scaled. Sums are scaled, never their parts, so that
 * rounding adds nothing.
 */
export function scaleTokens({ tokens, fixed = 0 }: Pick<Size, "tokens" | "fixed">, scale: TokenScale): ScaledTokens {
	return {
		low: Math.floor((tokens - fixed) * scale.low) + fixed,
		tokens: likelyTokens({ tokens, fixed }, scale),
		high: highTokens({ tokens, fixed }, scale),
	};
}

/** The middle of that: tokens by the best guess. */
export function likelyTokens({ tokens, fixed = 0 }: Pick<Size, "tokens" | "fixed">, { factor }: TokenScale): number {
	return factor === 1 ? tokens : Math.round((tokens - fixed) * factor) + fixed;
}

/** The upper end of that. */
export function highTokens({ tokens, fixed = 0 }: Pick<Size, "tokens" | "fixed">, { high }: TokenScale): number {
	return Math.ceil((tokens - fixed) * high) + fixed;
}
