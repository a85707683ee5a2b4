import type { Size } from "./edit.ts";

/** Two sizes together. */
export function addSizes(a: Size, b: Size): Size {
	return combine(a, b, 1);
}

/** What is left of a size without another. */
export function subtractSizes(a: Size, b: Size): Size {
	return combine(a, b, -1);
}

function combine(a: Size, b: Size, sign: 1 | -1): Size {
	const chars = a.chars + sign * b.chars;
	const tokens = a.tokens + sign * b.tokens;
	if (a.fixed === undefined && b.fixed === undefined) return { chars, tokens };
	return { chars, tokens, fixed: (a.fixed ?? 0) + sign * (b.fixed ?? 0) };
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
