import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import type { CallUsage } from "../conversation/transcript.ts";
import { numberAt, objectOf, stringAt } from "./json-values.ts";

/** The usage of an answer of Anthropic Messages; `undefined` if no model gave it. */
export function anthropicUsage(message: JsonObject): CallUsage | undefined {
	const { usage } = message;
	if (!isJsonObject(usage) || message.model === "<synthetic>") return undefined;
	const writes = objectOf(usage.cache_creation);
	const hour = numberAt(writes, "ephemeral_1h_input_tokens") ?? 0;
	const minutes = numberAt(writes, "ephemeral_5m_input_tokens") ?? 0;
	return cacheApartUsage({
		input: usage.input_tokens,
		cacheRead: usage.cache_read_input_tokens,
		cacheWrite: usage.cache_creation_input_tokens,
		cacheSeconds: hour + minutes === 0 ? undefined : hour >= minutes ? 3_600 : 300,
		model: message.model,
	});
}

/** For records whose `input` leaves out what was read from the cache and written to it. */
export function cacheApartUsage(record: {
	readonly input: unknown;
	readonly cacheRead: unknown;
	readonly cacheWrite: unknown;
	readonly cacheSeconds?: number | undefined;
	readonly model: unknown;
}): CallUsage | undefined {
	const [input, cached, written] = [record.input, record.cacheRead, record.cacheWrite].map(tokensIn);
	if (input === undefined && cached === undefined) return undefined;
	return usageOf({ ...record, inputTokens: (input ?? 0) + (cached ?? 0) + (written ?? 0), cachedTokens: cached ?? 0 });
}

/** The usage in an answer of Chat Completions, whose input has what came from the cache. */
export function openaiUsage({ usage, model }: JsonObject): CallUsage | undefined {
	const { prompt_tokens, prompt_tokens_details } = objectOf(usage);
	const inputTokens = tokensIn(prompt_tokens);
	const cachedTokens = tokensIn(objectOf(prompt_tokens_details).cached_tokens);
	return inputTokens === undefined || cachedTokens === undefined
		? undefined
		: usageOf({ inputTokens, cachedTokens, model });
}

/** The `token_count` event of Codex, whose input has what came from the cache. */
export function codexUsage({ info }: JsonObject, model: string | undefined): CallUsage | undefined {
	const last = objectOf(objectOf(info).last_token_usage);
	const inputTokens = tokensIn(last.input_tokens);
	if (inputTokens === undefined) return undefined;
	return usageOf({ inputTokens, cachedTokens: tokensIn(last.cached_input_tokens) ?? 0, model });
}

function usageOf(given: {
	readonly inputTokens: number;
	readonly cachedTokens: number;
	readonly cacheSeconds?: number | undefined;
	readonly model: unknown;
}): CallUsage | undefined {
	const { inputTokens, cachedTokens, cacheSeconds } = given;
	// A failed call has a usage of zeros.
	if (inputTokens <= 0) return undefined;
	const model = stringAt({ model: given.model }, "model");
	return {
		inputTokens,
		cachedTokens: Math.min(cachedTokens, inputTokens),
		...(cacheSeconds === undefined ? {} : { cacheSeconds }),
		...(model === undefined ? {} : { model }),
	};
}

function tokensIn(value: unknown): number | undefined {
	const tokens = numberAt({ tokens: value }, "tokens");
	return tokens === undefined || tokens < 0 ? undefined : tokens;
}
