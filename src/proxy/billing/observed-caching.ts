export const apis = ["anthropic", "openai", "gemini"] as const;

export type Api = (typeof apis)[number];

/** How an upstream was seen to cache the prompts of a model, by the `usage` of its answers. */
export interface ObservedCaching {
	/** Whether an answer ever told of tokens read from a cache. */
	readonly reads: boolean;
	/** Whether one did that no `cache_control` had asked for. */
	readonly readsUnasked: boolean;
	/** Requests with a long repeated prefix, without a token read. */
	readonly misses: number;
}

export const nothingObserved: ObservedCaching = { reads: false, readsUnasked: false, misses: 0 };

/** Providers cache from some 1 000 tokens on, a few models from 4 096. */
const longPrefix = 4_000;
const mostMisses = 5;

/**
 * Adds one more answer to the observations. `repeated` are the tokens at the start of the request that were sent before, as long
 * as the provider keeps them; 0 if its cache had expired. `isExpected`: whether the request was to be cached.
 */
function learnFromUsage(
	observed: ObservedCaching,
	{ usage, repeated, isExpected }: Answered & { readonly isExpected: boolean },
): ObservedCaching {
	const { reads, readsUnasked, misses } = observed;
	if (usage.cacheRead > 0) return { reads: true, readsUnasked: readsUnasked || !isExpected, misses: 0 };
	const isMiss = isExpected && !reads && repeated > longPrefix;
	return isMiss ? { ...observed, misses: misses + 1 } : observed;
}

export interface Answered {
	readonly usage: { readonly cacheRead: number };
	readonly repeated: number;
}

/** Whether the upstream does not cache this model, or never says so. */
export function neverReads({ reads, misses }: ObservedCaching): boolean {
	return !reads && misses >= mostMisses;
}

/** Names come from requests, so only so many are remembered. */
const mostModels = 500;

export type CachingRecord = ReturnType<typeof createCachingRecord>;

/** Remembers observations since the start, by API (a proxy has one upstream for each) and model. */
export function createCachingRecord() {
	const known = new Map<string, ObservedCaching>();
	const keyOf = (api: Api, model: string | undefined) => `${api} ${model?.slice(0, 200) ?? ""}`;
	return {
		of: (api: Api, model: string | undefined): ObservedCaching => known.get(keyOf(api, model)) ?? nothingObserved,
		learn(api: Api, model: string | undefined, seen: Parameters<typeof learnFromUsage>[1]): void {
			const key = keyOf(api, model);
			if (known.size >= mostModels && !known.has(key)) known.clear();
			known.set(key, learnFromUsage(known.get(key) ?? nothingObserved, seen));
		},
	};
}
