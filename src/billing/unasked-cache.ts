import type { CacheTerms } from "./terms.ts";
import { dollarsOf } from "./usage.ts";

/** What requests cost more since their program asks for no cache: in prices of an input token, and in US dollars where known. */
export interface Unasked {
	readonly requests: number;
	readonly billed: number;
	readonly usd: number;
}

const shortestLifetimeMs = 5 * 60_000;

/** Counts requests to models that cache only what a `cache_control` marks, from programs that set none. */
export function countUnasked() {
	const sums = { requests: 0, billed: 0, usd: 0 };
	return {
		/** `repeated`: tokens that were sent before and again; `whole`: tokens of the prompt; `idle`: ms since the request before. */
		enter(
			repeated: number,
			about: { readonly whole: number; readonly terms: CacheTerms; readonly idle: number | undefined },
		): void {
			const { whole, terms, idle = 0 } = about;
			if (terms.caching !== "not_asked" || whole === 0 || idle > shortestLifetimeMs) return;
			const { prices, reads, writes } = terms;
			const read = Math.min(repeated, whole);
			const more = read * (prices.input - reads) - (whole - read) * (writes.minutes - prices.input);
			if (more <= 0) return;
			sums.requests += 1;
			sums.billed += more;
			sums.usd += dollarsOf(more, terms) ?? 0;
		},
		sums: (): Unasked => ({ ...sums, billed: Math.round(sums.billed) }),
	};
}
