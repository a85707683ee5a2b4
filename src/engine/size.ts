import type { Size } from "./edit.ts";

/** Two sizes together. */
export function addSizes(a: Size, b: Size): Size {
	const chars = a.chars + b.chars;
	const tokens = a.tokens + b.tokens;
	if (a.fixed === undefined && b.fixed === undefined) return { chars, tokens };
	return { chars, tokens, fixed: (a.fixed ?? 0) + (b.fixed ?? 0) };
}

/** What is left of a size without another. */
export function subtractSizes(a: Size, b: Size): Size {
	// Never 0 times -1: one -0 makes V8 keep the numbers of all sizes in objects of their own.
	const chars = a.chars - b.chars;
	const tokens = a.tokens - b.tokens;
	if (a.fixed === undefined && b.fixed === undefined) return { chars, tokens };
	return { chars, tokens, fixed: (a.fixed ?? 0) - (b.fixed ?? 0) };
}

/** A sum of many sizes, taken up one by one. */
export interface SizeSum {
	readonly add: (size: Size) => void;
	readonly subtract: (size: Size) => void;
	readonly total: () => Size;
}

/** Starts a sum from a size. */
export function startSum(from: Size = { chars: 0, tokens: 0 }): SizeSum {
	let { chars, tokens, fixed = 0 } = from;
	return {
		add(size) {
			chars += size.chars;
			tokens += size.tokens;
			fixed += size.fixed ?? 0;
		},
		subtract(size) {
			chars -= size.chars;
			tokens -= size.tokens;
			fixed -= size.fixed ?? 0;
		},
		total: () => ({ chars, tokens, fixed }),
	};
}
