import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import { listOf, objectOf } from "../json-text/value.ts";
import type { Prices } from "../policy/schema.ts";
import type { Api } from "./routes.ts";

/** How a provider caches the prompt of a request. */
export interface CacheTerms {
	/** Milliseconds that a prefix stays in the cache after its last use. */
	readonly lifetime: number;
	readonly prices: Prices;
	/** Prices of a token written for a while, of a request that asks for different times. */
	readonly writes: { readonly minutes: number; readonly hour: number };
}

const minute = 60_000;

/**
 * Anthropic: what the last `cache_control` of the request asks for (5 minutes at 1.25 × the input price, or 1 hour at
 * 2 ×); nothing is cached without one
 * (https://docs.claude.com/en/docs/build-with-claude/prompt-caching). OpenAI and Gemini cache by themselves, and writing
 * costs no more than reading anew (https://platform.openai.com/docs/guides/prompt-caching: inactive prefixes live 5 to 10
 * minutes; https://ai.google.dev/gemini-api/docs/caching). Prices that the policy sets itself stay.
 */
export function cacheTerms(body: unknown, api: Api, prices: Prices): CacheTerms {
	const isOwn = prices.cache_write !== usual.cache_write || prices.cache_read !== usual.cache_read;
	const at = (cache_read: number, cache_write: number): Prices => {
		return isOwn
			? prices
			: { ...prices, cache_read: cache_read * prices.input, cache_write: cache_write * prices.input };
	};
	const writes = {
		minutes: at(usual.cache_read, usual.cache_write).cache_write,
		hour: at(usual.cache_read, hourWrite).cache_write,
	};
	if (api !== "anthropic") return { lifetime: 5 * minute, prices: at(usual.cache_read, 1), writes };
	const breakpoint = lastBreakpoint(objectOf(body));
	if (!breakpoint) return { lifetime: 0, prices: at(1, 1), writes };
	if (breakpoint.ttl === "1h") return { lifetime: 60 * minute, prices: at(usual.cache_read, hourWrite), writes };
	return { lifetime: 5 * minute, prices: at(usual.cache_read, usual.cache_write), writes };
}

const usual = { cache_read: 0.1, cache_write: 1.25 };
const hourWrite = 2;

/** In the order of the prompt: tools, system, messages. The one of the whole request stands for the last message. */
function lastBreakpoint(body: JsonObject): JsonObject | undefined {
	if (isJsonObject(body.cache_control)) return body.cache_control;
	const messages = listOf(body.messages);
	for (let index = messages.length - 1; index >= 0; index -= 1) {
		const found = lastIn(objectOf(messages[index]).content);
		if (found) return found;
	}
	return lastIn(body.system) ?? lastIn(body.tools);
}

function lastIn(blocks: unknown): JsonObject | undefined {
	return listOf(blocks)
		.map((block) => objectOf(block).cache_control)
		.findLast(isJsonObject);
}
