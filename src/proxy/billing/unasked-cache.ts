import type { CacheTerms } from "./terms.ts";
import { dollarsOf, type TokenCounts } from "./usage.ts";

/** What requests cost more since their program asks for no cache: in prices of an input token, and in US dollars where known. */
export interface Unasked {
	readonly requests: number;
	readonly billed: number;
	readonly usd: number;
}

const shortestLifetimeMs = 5 * 60_000;

/**
 * Counts requests to models that cache only what a `cache_control` marks, from programs that set none. Gateways with OpenAI's API want
 * it too (https://openrouter.ai/docs/features/prompt-caching); one that sets it by itself reports tokens of the cache.
 */
export function countUnasked() {
	const sums = { requests: 0, billed: 0, usd: 0 };
	return {
		/** `repeated`: tokens that were sent before and again; `idle`: ms since the request before. */
		enter(
			repeated: number,
			about: { readonly usage: TokenCounts | undefined; readonly terms: CacheTerms; readonly idle: number | undefined },
		): void {
			const { usage, terms, idle = 0 } = about;
			if (!usage || !terms.isUnmarked || usage.cacheRead + usage.cacheWrite > 0 || idle > shortestLifetimeMs) return;
			const whole = usage.input;
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
