import { isJsonObject, type JsonObject } from "../../engine/conversation/json.ts";
import { objectOf, objectsOf, stringAt } from "../../formats/json-text/value.ts";
import type { Api } from "./observed-caching.ts";
import { promptTokens, type TokenCounts, type Usage } from "./usage.ts";

/** Members that hold what a model or a program wrote: a `usage` in there is part of a conversation. */
const written = new Set([
	...["content", "delta", "output", "candidates", "input", "arguments", "parts", "tool_calls", "content_block"],
	...["item", "instructions", "metadata", "tools", "text", "error"],
]);
const deepest = 5;

/**
 * Finds the usage in an answer or an event, at any depth but in what the model wrote: the shallowest object named `usage` or
 * `usageMetadata`, or else one whose name ends so. Answers of Responses also have a `tool_usage`, those of Copilot a `copilot_usage`.
 */
export function usageIn(value: unknown): JsonObject {
	return objectNamed(/^usage(?:Metadata)?$/, value) ?? objectNamed(/usage(?:_?metadata)?$/i, value) ?? {};
}

function objectNamed(name: RegExp, value: unknown): JsonObject | undefined {
	// Gemini's stream without events is a list.
	let level = [objectOf(Array.isArray(value) ? value.at(-1) : value)];
	for (let depth = 0; depth < deepest && level.length > 0; depth += 1) {
		const members = level.flatMap((one) => Object.entries(one));
		const found = members.find(([key, one]) => name.test(key) && isJsonObject(one));
		if (found) return found[1] as JsonObject;
		// The last choice of a stream of Moonshot has it.
		const others = members
			.filter(([key]) => !written.has(key))
			.flatMap(([, one]) => (Array.isArray(one) ? one : [one]));
		level = others.filter(isJsonObject);
	}
	return undefined;
}

/** Later events count: their figures are sums. The last one of Anthropic repeats some as null, that of some gateways as 0. */
export function mergedUsage(found: JsonObject, more: JsonObject): JsonObject {
	const known = Object.entries(more).filter(([key, one]) => one !== null && (one !== 0 || found[key] === undefined));
	return { ...found, ...Object.fromEntries(known) };
}

/**
 * Reads the fields of a usage. `undefined` if it tells no tokens of a prompt, which no prompt has, or contradicts itself: the usage is
 * then unknown.
 */
export function usageOf(found: JsonObject, api: Api): Usage | undefined {
	// Cohere has the counts one level deeper, and those of its cache beside them.
	const plain = Object.fromEntries(Object.entries(found).filter(([, one]) => typeof one === "number"));
	const deeper = Object.values(found).filter(isJsonObject);
	const holder = [found, ...deeper.map((one) => ({ ...plain, ...one }))].find((one) => readFields(one, api));
	const top = holder && readFields(holder, api);
	if (!top) return undefined;
	// Of an answer that is a compaction alone, the passes have all tokens.
	const usage = withPasses(top, objectsOf(holder.iterations));
	if (promptTokens(usage) === 0) return undefined;
	const names = unknownFields(holder);
	return { ...usage, ...(names.length > 0 && { unknownFields: names }) };
}

function readFields(found: JsonObject, api: Api): TokenCounts | undefined {
	if (found.inputTokens !== undefined) return converseCounts(found);
	if (found.promptTokenCount !== undefined) return geminiCounts(found);
	if (api === "anthropic" && found.prompt_tokens === undefined) return anthropicCounts(found);
	return openaiCounts(found);
}

/** Of "Converse" (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_TokenUsage.html). */
function converseCounts(found: JsonObject): TokenCounts {
	const cacheWrite = tokensIn(found.cacheWriteInputTokens);
	const details = objectsOf(found.cacheDetails);
	const forHour = details.filter(({ ttl }) => isHour(ttl)).reduce((sum, one) => sum + tokensIn(one.inputTokens), 0);
	return {
		input: tokensIn(found.inputTokens),
		cacheRead: tokensIn(found.cacheReadInputTokens),
		cacheWrite,
		...(details.length > 0 && { cacheWriteForHour: Math.min(forHour, cacheWrite) }),
		output: tokensIn(found.outputTokens),
	};
}

const isHour = (ttl: unknown): boolean => /^\d+h$/.test(String(ttl));

function geminiCounts(found: JsonObject): TokenCounts | undefined {
	const prompt = tokensIn(found.promptTokenCount);
	const split = splitPrompt(prompt, { read: tokensIn(found.cachedContentTokenCount) });
	const output = tokensIn(found.candidatesTokenCount) + tokensIn(found.thoughtsTokenCount);
	// Results of tools that Google runs, such as a page that it reads, are beside the prompt.
	const ofTools = tokensIn(found.toolUsePromptTokenCount);
	if (!split) return undefined;
	return withRest({ ...split, input: split.input + ofTools, output }, tokensIn(found.totalTokenCount), found);
}

/** `input_tokens` are those that were neither read nor written, unless an endpoint reports the tokens read in a field of its own. */
function anthropicCounts(found: JsonObject): TokenCounts | undefined {
	if (found.input_tokens === undefined) return undefined;
	const output = tokensIn(found.output_tokens);
	const write = tokensIn(found.cache_creation_input_tokens);
	const beside = largestNamed(isRead, found);
	if (found.cache_read_input_tokens === undefined && beside > 0) {
		const split = splitPrompt(tokensIn(found.input_tokens), { read: beside, write });
		return split && { ...split, output };
	}
	return {
		input: tokensIn(found.input_tokens),
		cacheRead: tokensIn(found.cache_read_input_tokens),
		cacheWrite: write,
		...hourOf(found.cache_creation, write),
		output,
	};
}

/** Of chat completions and Responses, and of what speaks them. */
function openaiCounts(found: JsonObject): TokenCounts | undefined {
	const { prompt_cache_hit_tokens: hit, prompt_cache_miss_tokens: miss } = found;
	const given =
		found.prompt_tokens ?? found.input_tokens ?? (hit === undefined ? miss : tokensIn(hit) + tokensIn(miss));
	if (given === undefined) return undefined;
	const details = objectOf(found.prompt_tokens_details ?? found.input_tokens_details ?? found.input_token_details);
	// Outside the details of OpenAI: DeepSeek; Moonshot; LiteLLM for Claude.
	const read = largestNamed(isRead, details, found);
	const write = largestNamed(isWrite, details, found);
	const creation = details.cache_creation_token_details ?? found.cache_creation;
	const output = tokensIn(found.completion_tokens ?? found.output_tokens);
	const prompt = tokensIn(given);
	// Of the sum of all, what neither the prompt nor the output has.
	const rest = Math.max(0, tokensIn(found.total_tokens) - prompt - output);
	const hasFieldsOfAnthropic = [found.cache_read_input_tokens, found.cache_creation_input_tokens].some(
		(one) => tokensIn(one) > 0,
	);
	const isApart =
		read + write > prompt ? rest >= read + write || hasFieldsOfAnthropic : rest > 0 && rest === read + write;
	if (isApart) return { input: prompt, cacheRead: read, cacheWrite: write, ...hourOf(creation, write), output };
	const split = splitPrompt(prompt, { read, write, creation });
	return split && withRest({ ...split, output }, tokensIn(found.total_tokens), found);
}

/**
 * Adds what the sum of all has and neither the prompt nor the output: reasoning, as xAI and the API of OpenAI at Google report it, or
 * input where a field of the same size says so by its name.
 */
function withRest(counts: TokenCounts, total: number, found: JsonObject): TokenCounts {
	const rest = total - promptTokens(counts) - counts.output;
	if (rest <= 0) return counts;
	const isInput = Object.entries(found).some(([key, value]) => value === rest && /input|prompt/i.test(key));
	return isInput ? { ...counts, input: counts.input + rest } : { ...counts, output: counts.output + rest };
}

/** A prompt that is counted whole. `undefined` if its parts are more than that. */
function splitPrompt(
	whole: number,
	parts: { readonly read: number; readonly write?: number; readonly creation?: unknown },
): Omit<TokenCounts, "output"> | undefined {
	const { read: cacheRead, write: cacheWrite = 0 } = parts;
	const input = whole - cacheRead - cacheWrite;
	return input < 0 ? undefined : { input, cacheRead, cacheWrite, ...hourOf(parts.creation, cacheWrite) };
}

/** What was written for hours, such as `ephemeral_1h_input_tokens`. */
function hourOf(creation: unknown, written: number): Pick<TokenCounts, "cacheWriteForHour"> {
	const hours = Object.entries(objectOf(creation)).filter(
		([name, one]) => /_\d+h_/.test(name) && typeof one === "number",
	);
	if (hours.length === 0) return {};
	const tokens = hours.reduce((sum, [, one]) => sum + tokensIn(one), 0);
	return { cacheWriteForHour: Math.min(tokens, written) };
}

/**
 * Adds the passes of one request that Anthropic lists. The usage beside them sums the messages; it leaves out a compaction, an advisor,
 * which is billed at the prices of its own model, and an attempt that another model took over, which is not billed ("Compaction",
 * "Advisor tool" and "Refusals and fallback", platform.claude.com). A pass of an unknown type counts unless the sum has it.
 */
function withPasses(top: TokenCounts, iterations: readonly JsonObject[]): Usage {
	const listed = iterations.flatMap((one) => {
		const counts = anthropicCounts(one);
		return counts ? [{ type: String(one.type), model: stringAt(one, "model"), counts }] : [];
	});
	const takenOverBy = listed.find(({ type }) => type === "fallback_message");
	const messages = listed.filter((one) => isMessage(one) && (!takenOverBy || one.model === takenOverBy.model));
	const others = listed.filter((one) => !isMessage(one));
	const isWithin = others.length > 0 && promptTokens(sumOf([...messages, ...others])) === promptTokens(top);
	const apart = isWithin ? [] : others;
	const isOfOther = (one: Listed) => one.type !== "compaction" && one.model !== undefined;
	const beside = apart.filter(isOfOther).map(({ model = "", counts }) => ({ model, counts }));
	const own = apart.filter((one) => !isOfOther(one));
	const ofMessages = promptTokens(sumOf(messages)) === promptTokens(top) ? messages : [{ counts: top }];
	const isFirst = own.length > 0 && listed[0] === own[0];
	const passes = (isFirst ? [...own, ...ofMessages] : [...ofMessages, ...own]).map(({ counts }) => counts);
	return {
		...(own.length > 0 ? sumOf([{ counts: top }, ...own]) : top),
		...(passes.length > 1 && { passes }),
		...(beside.length > 0 && { beside }),
	};
}

interface Listed {
	readonly type: string;
	readonly model: string | undefined;
	readonly counts: TokenCounts;
}

const isMessage = ({ type }: Pick<Listed, "type">): boolean => type === "message" || type === "fallback_message";

function sumOf(all: readonly Pick<Listed, "counts">[]): TokenCounts {
	const sum = (of: (one: TokenCounts) => number) => all.reduce((so, { counts }) => so + of(counts), 0);
	const isTimed = all.some(({ counts }) => counts.cacheWriteForHour !== undefined);
	return {
		input: sum(({ input }) => input),
		cacheRead: sum(({ cacheRead }) => cacheRead),
		cacheWrite: sum(({ cacheWrite }) => cacheWrite),
		...(isTimed && { cacheWriteForHour: sum(({ cacheWriteForHour = 0 }) => cacheWriteForHour) }),
		output: sum(({ output }) => output),
	};
}

/** Fields that are read above, parts of those, and sums. */
const knownField = new RegExp(
	`^(?:${[
		"(?:total|input|output|prompt|completion|cached|reasoning|thinking|text|audio|image|video|file|document)_tokens",
		"(?:total|prompt|candidates|thoughts|cachedContent|toolUsePrompt)?[tT]okenCount",
		"(?:total|input|output|cacheReadInput|cacheWriteInput)Tokens",
		"cache_(?:read|creation)_input_tokens|cache_(?:write|creation)_tokens|prompt_cache_(?:hit|miss)_tokens",
		"ephemeral_\\w+_input_tokens|(?:accepted|rejected)_prediction_tokens",
	].join("|")})$`,
);
/** Objects within a usage whose known fields are parts of those above, or are read above. */
const knownHolder = /^(?:iterations|cache_creation|\w*details)$/i;
const knownPass = /^(?:message|fallback_message|advisor_message|compaction)$/;
const mostNames = 10;

/** Names of fields with counts of tokens that nothing above knows, and of passes of an unknown type. */
function unknownFields(found: JsonObject): string[] {
	const names = new Set<string>();
	const look = (value: unknown, path: string, depth: number): void => {
		if (depth > deepest || names.size >= mostNames) return;
		if (Array.isArray(value)) for (const one of value.slice(0, mostPasses)) look(one, path, depth + 1);
		if (!isJsonObject(value)) return;
		const isKnown = path === "" || path.split(".").every((part) => knownHolder.test(part));
		if (path === "iterations" && !knownPass.test(String(value.type))) names.add(shownField(`iterations.${value.type}`));
		for (const [key, member] of Object.entries(value)) {
			const name = path === "" ? key : `${path}.${key}`;
			if (typeof member === "object") look(member, name, depth + 1);
			else if (tokensIn(member) > 0 && isCount(key, path) && !(isKnown && isKnownCount(key)))
				names.add(shownField(name));
		}
	};
	look(found, "", 0);
	return [...names].slice(0, mostNames);
}

const isKnownCount = (key: string): boolean => knownField.test(key) || isRead(key) || isWrite(key);
/** In LangChain's `input_token_details` the name of the object says what is counted. */
const isCount = (key: string, path: string): boolean =>
	/token/i.test(key) || /(?:input|prompt)_?tokens?_?details$/i.test(path);

const mostPasses = 100;
const shownField = (path: string): string => (/^[\w.]{1,80}$/.test(path) ? path : "a field without a plain name");

/** `cached_tokens`, `num_cached_tokens`, `prompt_cache_hit_tokens`, `cache_read_input_tokens`: each provider has a name of its own. */
const isRead = (name: string): boolean => /cached|cache_?(?:hit|read)/i.test(name) && !isNoCount.test(name);
const isWrite = (name: string): boolean => /cache_?(?:writ|creat)/i.test(name) && !isNoCount.test(name);
const isNoCount = /miss|output|completion|candidates|cost|price|usd|discount|ratio|rate|percent|time|_ms$|seconds/i;

/** The largest whole number with such a name: a provider may repeat it, or add a part of it. */
function largestNamed(isSo: (name: string) => boolean, ...objects: readonly JsonObject[]): number {
	const members = objects.flatMap((one) => Object.entries(one));
	const counts = members.filter(([name, one]) => isSo(name) && Number.isInteger(one)).map(([, one]) => tokensIn(one));
	return Math.max(0, ...counts);
}

/** An answer may hold any number. One that cannot be a count of tokens is read as 0, so that sums stay finite. */
export function tokensIn(value: unknown): number {
	return typeof value === "number" && value >= 0 && value <= Number.MAX_SAFE_INTEGER ? value : 0;
}
