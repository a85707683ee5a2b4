import { isJsonObject, type JsonObject } from "../../engine/conversation/json.ts";
import type { Prices } from "../../engine/policy/schema.ts";
import { listOf, objectOf, stringAt } from "../../formats/json-text/value.ts";
import { ownPrices, pricesOfModel } from "../../formats/tokens/model-prices.ts";
import type { ModelPrices } from "../../formats/tokens/price-table.ts";
import { type Api, neverReads, nothingObserved, type ObservedCaching } from "./observed-caching.ts";
import type { Served } from "./served.ts";

/** The prices of a request, and how its provider caches it. */
export interface CacheTerms {
	/** Its name in the request. */
	readonly model: string | undefined;
	/** Milliseconds that a prefix stays in the cache after its last use; 0 if nothing is cached. */
	readonly lifetime: number;
	/**
	 * The expected price of each kind of token, and the price steps. Without a cache, every token of the prompt costs as much as an
	 * input token.
	 */
	readonly prices: Prices;
	/** Prices of tokens that an answer reports as read, and as written for some minutes or an hour. */
	readonly reads: number;
	readonly writes: { readonly minutes: number; readonly hour: number };
	/** US dollars for a million tokens as served, where they are known. */
	readonly dollars?: { readonly input: number; readonly output: number };
	/**
	 * `asked`: by a `cache_control`. `automatic`: the provider caches by itself. `not_asked`: nothing is cached.
	 * `never_read`: the upstream was never seen to read from a cache, so all counts as uncached.
	 */
	readonly caching: "asked" | "automatic" | "not_asked" | "never_read";
	/** Whether the model caches only what is marked, and the request marks nothing. A gateway may still mark it. */
	readonly isUnmarked: boolean;
	/** What the terms come from, so that those of an answer can be found. */
	readonly from: AskedTerms;
}

interface AskedTerms {
	readonly api: Api;
	readonly policy: Prices;
	readonly breakpoint: "none" | "minutes" | "hour";
	readonly keepsADay: boolean;
	readonly observed: ObservedCaching;
	/** When the request came, in ms since 1970; `undefined`: on the date of our table. */
	readonly at: number | undefined;
	/** Whether a cloud is asked for a region or a group of regions. */
	readonly isRegional: boolean;
}

/**
 * Finds the terms by the model of the request (`docs/tokens.md`), its `cache_control` and the observations. Anthropic caches the parts that a
 * `cache_control` marks, for 5 minutes or an hour, and nothing without one
 * (https://platform.claude.com/docs/en/build-with-claude/prompt-caching). OpenAI and Gemini cache by themselves
 * (https://developers.openai.com/api/docs/guides/prompt-caching: inactive prefixes live 5 to 10 minutes, 30 from GPT-5.6 on,
 * a day if asked; https://ai.google.dev/gemini-api/docs/caching). Prices that the policy sets itself stay.
 */
export function cacheTerms(
	body: unknown,
	api: Api,
	prices: Prices,
	about: {
		readonly model?: string | undefined;
		readonly observed?: ObservedCaching;
		readonly at?: number;
		readonly isRegional?: boolean;
	} = {},
): CacheTerms {
	const request = objectOf(body);
	const breakpoint = lastBreakpoint(request) ?? markedByLiteLlm(request);
	return termsOf(about.model ?? stringAt(request, "model"), {
		api,
		policy: prices,
		breakpoint: breakpoint === undefined ? "none" : breakpoint.ttl === "1h" ? "hour" : "minutes",
		keepsADay: request.prompt_cache_retention === "24h",
		observed: about.observed ?? nothingObserved,
		at: about.at,
		isRegional: about.isRegional ?? false,
	});
}

/**
 * The terms of an answer: those of the model that answered, if its price is known, in the tier and the place that it names. Of a tier
 * without a known price no dollars are known.
 */
export function servedTerms(asked: CacheTerms, { model, tier = "standard", geo = "global" }: Served): CacheTerms {
	const terms = (model === undefined ? undefined : termsOfOther(asked, model)) ?? asked;
	if (!terms.dollars) return terms;
	const known = terms.model === undefined ? undefined : pricesOfModel(terms.model, asked.from.at);
	const ofTier = standardTiers.has(tier)
		? 1
		: known && Object.hasOwn(known.tiers, tier)
			? known.tiers[tier]
			: undefined;
	// A region has been counted already.
	const ofGeo = standardGeos.has(geo) || asked.from.isRegional ? 1 : geo === "us" ? known?.regional : undefined;
	const { dollars, ...others } = terms;
	if (ofTier === undefined || ofGeo === undefined) return others;
	const factor = ofTier * ofGeo;
	return { ...others, dollars: { input: dollars.input * factor, output: dollars.output * factor } };
}

/** The terms of another model; `undefined` if its price is unknown. */
export function termsOfOther(asked: CacheTerms, model: string): CacheTerms | undefined {
	if (model === asked.model) return asked;
	return pricesOfModel(model, asked.from.at) && termsOf(model, asked.from);
}

const standardTiers = new Set(["standard", "default", "auto", "on_demand", ""]);
const standardGeos = new Set(["global", "not_available", ""]);

function termsOf(model: string | undefined, from: AskedTerms): CacheTerms {
	const { api, policy: prices, breakpoint, isRegional } = from;
	const known = (model === undefined ? undefined : pricesOfModel(model, from.at)) ?? usualPrices[api];
	const caching = cachingOf({ api, known, hasBreakpoint: breakpoint !== "none" }, from.observed);
	const isHour = caching === "asked" && breakpoint === "hour";
	const own = ownPrices(prices);
	const at = (factor: number) => factor * prices.input;
	const isCached = caching === "asked" || caching === "automatic";
	const write = isHour ? known.writeForHour : caching === "asked" || !known.isAsked ? known.write : 1;
	const reads = own.cache_read ?? at(known.read);
	// Who reports writes bills them, whatever the model's own maker does.
	const writes = {
		minutes: own.cache_write ?? at(known.write > 1 ? known.write : usualPrices.anthropic.write),
		hour:
			own.cache_write_hour ??
			own.cache_write ??
			at(known.writeForHour > 1 ? known.writeForHour : usualPrices.anthropic.writeForHour),
	};
	const ofPlace = isRegional ? known.regional : 1;
	return {
		model,
		lifetime: !isCached ? 0 : from.keepsADay ? 24 * 60 * minute : (isHour ? 60 : known.minutes) * minute,
		prices: {
			...prices,
			cache_read: own.cache_read ?? at(isCached ? known.read : 1),
			cache_write: isHour
				? (own.cache_write_hour ?? own.cache_write ?? at(write))
				: (own.cache_write ?? at(isCached ? write : 1)),
			output: own.output ?? at(known.output),
			steps: own.steps ?? known.steps,
		},
		reads,
		writes,
		...(known.dollars && {
			dollars: { input: known.dollars.input * ofPlace, output: known.dollars.output * ofPlace },
		}),
		caching,
		isUnmarked: known.isAsked && breakpoint === "none",
		from,
	};
}

const automatic = {
	...{ name: "", read: 0.1, write: 1, writeForHour: 1, output: 5, steps: [], minutes: 5, isAsked: false },
	...{ tiers: {}, regional: 1 },
};

/** The prices of unknown models. */
const usualPrices: Readonly<Record<Api, ModelPrices>> = {
	anthropic: { ...automatic, write: 1.25, writeForHour: 2, isAsked: true },
	openai: automatic,
	gemini: automatic,
};

function cachingOf(
	{ api, known, hasBreakpoint }: { readonly api: Api; readonly known: ModelPrices; readonly hasBreakpoint: boolean },
	observed: ObservedCaching,
): CacheTerms["caching"] {
	if (neverReads(observed)) return "never_read";
	if (hasBreakpoint && known.isAsked) return "asked";
	// A gateway with the API of OpenAI may ask for it by itself.
	return known.isAsked && api === "anthropic" && !observed.readsUnasked ? "not_asked" : "automatic";
}

const minute = 60_000;

/** Finds the last breakpoint, in the order tools, system, messages. One on the whole request counts for the last message. */
function lastBreakpoint(body: JsonObject): JsonObject | undefined {
	if (isJsonObject(body.cache_control)) return body.cache_control;
	const messages = listOf(body.messages);
	for (let index = messages.length - 1; index >= 0; index -= 1) {
		const found = lastIn([messages[index]]) ?? lastIn(objectOf(messages[index]).content);
		if (found) return found;
	}
	return lastIn(body.system) ?? lastIn(body.tools ?? objectOf(body.toolConfig).tools);
}

/** Messages that LiteLLM marks before it sends them ("Auto-inject prompt caching checkpoints", docs.litellm.ai). */
function markedByLiteLlm(body: JsonObject): JsonObject | undefined {
	const [point] = listOf(body.cache_control_injection_points);
	return isJsonObject(point) ? objectOf(point.control) : undefined;
}

function lastIn(blocks: unknown): JsonObject | undefined {
	return (
		listOf(blocks)
			// Bedrock's Converse has blocks of their own for it ("Prompt caching", docs.aws.amazon.com/bedrock).
			.map((block) => objectOf(block).cache_control ?? objectOf(block).cachePoint)
			.findLast(isJsonObject)
	);
}
