import { isJsonObject, type JsonObject, parseJsonObject } from "../engine/conversation/json.ts";
import type { CallUsage } from "../engine/conversation/transcript.ts";
import { numberAt, objectOf, objectsOf, stringAt } from "./json-text/value.ts";

/** The answer of a provider to the last call of a conversation. */
export interface LastResponse {
	/** `length`: the answer was cut off at the token limit; `stop`: the model ended it. */
	readonly finishReason: FinishReason;
	/** The visible text, without reasoning. */
	readonly text: string;
	/** The calls that the caller has to answer, in order; not those that the provider ran. */
	readonly calls: readonly {
		readonly id: string | undefined;
		/** The tool's name, untrusted. */
		readonly name: string | undefined;
		/** Whether the call has a name and complete arguments: a JSON object or the text of one. */
		readonly isUsable: boolean;
	}[];
}

type FinishReason = "length" | "stop" | "tool_calls" | "other";

export interface AnswerReader {
	readonly shape: string;
	/** `undefined` for an answer of another shape. Never throws. */
	readonly read: (response: JsonObject) => LastResponse | undefined;
}

interface GivenResponse {
	/** As the provider spells it. */
	readonly reason: unknown;
	/** A list, since providers split a text at citations. */
	readonly texts: readonly string[];
	readonly calls: readonly GivenCall[];
}

export interface GivenCall {
	readonly id: string | undefined;
	readonly name: string | undefined;
	readonly input: CallInput;
	/** Whether the call is the last part, so the answer may have been cut off inside it. */
	readonly endsAnswer: boolean;
}

/**
 * The arguments of a call. `json`: a completely parsed object, or the text of one. `parsed_partly`: an object made of the
 * received part, which may be all. `text`: free text. `broken`: known to be cut or to be no JSON.
 */
export type CallInput =
	| { readonly kind: "json" | "parsed_partly"; readonly value: unknown }
	| { readonly kind: "text" }
	| { readonly kind: "broken" };

/** Some providers give `stop` as the reason of an answer that calls tools. */
export function finishResponse({ reason, texts, calls }: GivenResponse): LastResponse {
	const kinds = ["length", "stop", "tool_calls"] as const;
	const known = kinds.find((kind) => finishReasons[kind].includes(plainName(reason))) ?? "other";
	const isCut = known === "length" || isMalformedCall(reason);
	return {
		finishReason: known === "stop" && calls.length > 0 ? "tool_calls" : known,
		// A cut may split a pair of surrogates, which an API refuses.
		text: withoutThinkTag(texts.join("")).toWellFormed(),
		calls: calls.map((call) => ({ id: call.id, name: call.name, isUsable: isUsable(call, isCut && call.endsAnswer) })),
	};
}

export function callsAmong(
	parts: readonly JsonObject[],
	read: (part: JsonObject) => Omit<GivenCall, "endsAnswer"> | undefined,
): GivenCall[] {
	return parts.flatMap((part, index) => {
		const call = read(part);
		return call ? [{ ...call, endsAnswer: index === parts.length - 1 }] : [];
	});
}

function isUsable({ name, input }: GivenCall, mayBeCut: boolean): boolean {
	if (name === undefined || input.kind === "broken") return false;
	if (input.kind === "text") return !mayBeCut;
	const { value } = input;
	// A tool without parameters is called without arguments; so is any other if the cut came before them.
	if (value == null || (typeof value === "string" && value.trim() === "")) return !mayBeCut;
	// Callers and providers replace arguments that they cannot parse by an empty object.
	const isEmpty = isJsonObject(value) && Object.keys(value).length === 0;
	if (mayBeCut && (input.kind === "parsed_partly" || isEmpty)) return false;
	return typeof value === "string" ? parseJsonObject(value) !== undefined : isJsonObject(value);
}

/** In lower case and without separators, since `MAX_TOKENS`, `max_tokens` and `maxTokens` all occur. */
const finishReasons: Readonly<Record<Exclude<FinishReason, "other">, readonly string[]>> = {
	length: ["length", "maxtokens", "maxoutputtokens", "modellength", "modelcontextwindowexceeded"],
	stop: ["stop", "endturn", "stopsequence", "complete", "completed"],
	tool_calls: ["toolcalls", "toolcall", "tooluse", "functioncall"],
};

/** Whether Gemini or Bedrock says that it could not parse the last call. */
export function isMalformedCall(reason: unknown): boolean {
	return ["malformedfunctioncall", "malformedtooluse"].includes(plainName(reason));
}

function plainName(reason: unknown): string {
	return typeof reason === "string" ? reason.replace(/[_-]/g, "").toLowerCase() : "";
}

/** Removes reasoning from the start of a text: DeepSeek and Qwen write it there if the endpoint does not separate it. */
export function withoutThinkTag(text: string): string {
	if (!text.trimStart().startsWith("<think>")) return text;
	const [, ...after] = text.split("</think>");
	return after.join("</think>").trimStart();
}

export function textsOf(content: unknown): string[] {
	if (typeof content === "string") return [content];
	return objectsOf(content).flatMap((part) => (part.type === "text" ? (stringAt(part, "text") ?? []) : []));
}

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

/** For records whose `input` excludes the tokens that were read from the cache or written to it. */
export function cacheApartUsage(
	record: Readonly<Record<"input" | "cacheRead" | "cacheWrite" | "model", unknown>> & CacheTime,
): CallUsage | undefined {
	const [input, cached, written] = [record.input, record.cacheRead, record.cacheWrite].map(tokensIn);
	if (input === undefined && cached === undefined) return undefined;
	return usageOf({ ...record, inputTokens: (input ?? 0) + (cached ?? 0) + (written ?? 0), cachedTokens: cached ?? 0 });
}

/** For records whose `input` includes the tokens read from the cache. `undefined` if their number is missing. */
export function cacheIncludedUsage(
	record: Readonly<Record<"input" | "cached" | "model", unknown>>,
): CallUsage | undefined {
	const [inputTokens, cachedTokens] = [record.input, record.cached].map(tokensIn);
	if (inputTokens === undefined || cachedTokens === undefined) return undefined;
	return usageOf({ inputTokens, cachedTokens, model: record.model });
}

type CacheTime = { readonly cacheSeconds?: number | undefined };

function usageOf(
	given: Pick<CallUsage, "inputTokens" | "cachedTokens"> & CacheTime & { readonly model: unknown },
): CallUsage | undefined {
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
