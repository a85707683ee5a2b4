import { isJsonObject, parseJsonObject } from "../engine/conversation/json.js";
import { numberAt, objectOf, objectsOf, stringAt } from "./json-text/value.js";
/** Some providers give `stop` as the reason of an answer that calls tools. */
export function finishResponse({ reason, texts, calls }) {
	const kinds = ["length", "stop", "tool_calls"];
	const known = kinds.find((kind) => finishReasons[kind].includes(plainName(reason))) ?? "other";
	const isCut = known === "length" || isMalformedCall(reason);
	return {
		finishReason: known === "stop" && calls.length > 0 ? "tool_calls" : known,
		// A cut may split a pair of surrogates, which an API refuses.
		text: withoutThinkTag(texts.join("")).toWellFormed(),
		calls: calls.map((call) => ({ id: call.id, name: call.name, isUsable: isUsable(call, isCut && call.endsAnswer) })),
	};
}
export function callsAmong(parts, read) {
	return parts.flatMap((part, index) => {
		const call = read(part);
		return call ? [{ ...call, endsAnswer: index === parts.length - 1 }] : [];
	});
}
function isUsable({ name, input }, mayBeCut) {
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
const finishReasons = {
	length: ["length", "maxtokens", "maxoutputtokens", "modellength", "modelcontextwindowexceeded"],
	stop: ["stop", "endturn", "stopsequence", "complete", "completed"],
	tool_calls: ["toolcalls", "toolcall", "tooluse", "functioncall"],
};
/** Whether Gemini or Bedrock says that it could not parse the last call. */
export function isMalformedCall(reason) {
	return ["malformedfunctioncall", "malformedtooluse"].includes(plainName(reason));
}
function plainName(reason) {
	return typeof reason === "string" ? reason.replace(/[_-]/g, "").toLowerCase() : "";
}
/** Removes reasoning from the start of a text: DeepSeek and Qwen write it there if the endpoint does not separate it. */
export function withoutThinkTag(text) {
	if (!text.trimStart().startsWith("<think>")) return text;
	const [, ...after] = text.split("</think>");
	return after.join("</think>").trimStart();
}
export function textsOf(content) {
	if (typeof content === "string") return [content];
	return objectsOf(content).flatMap((part) => (part.type === "text" ? (stringAt(part, "text") ?? []) : []));
}
/** The usage of an answer of Anthropic Messages; `undefined` if no model gave it. */
export function anthropicUsage(message) {
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
export function cacheApartUsage(record) {
	const [input, cached, written] = [record.input, record.cacheRead, record.cacheWrite].map(tokensIn);
	if (input === undefined && cached === undefined) return undefined;
	return usageOf({ ...record, inputTokens: (input ?? 0) + (cached ?? 0) + (written ?? 0), cachedTokens: cached ?? 0 });
}
/** For records whose `input` includes the tokens read from the cache. `undefined` if their number is missing. */
export function cacheIncludedUsage(record) {
	const [inputTokens, cachedTokens] = [record.input, record.cached].map(tokensIn);
	if (inputTokens === undefined || cachedTokens === undefined) return undefined;
	return usageOf({ inputTokens, cachedTokens, model: record.model });
}
function usageOf(given) {
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
function tokensIn(value) {
	const tokens = numberAt({ tokens: value }, "tokens");
	return tokens === undefined || tokens < 0 ? undefined : tokens;
}
