import type { IncomingMessage } from "node:http";
import zlib from "node:zlib";
import { createParser } from "eventsource-parser";
import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import { createJoinedChunks } from "../http/body.ts";
import { listOf, objectOf, objectsOf } from "../json-text/value.ts";
import { stepFactors } from "../masking/price-steps.ts";
import { createAwsEventReader } from "./aws-event-stream.ts";
import type { Api } from "./observed-caching.ts";
import type { CacheTerms } from "./terms.ts";

/** The tokens that a provider says it has billed. */
export interface Usage {
	/** Neither read from its cache nor written to it. */
	readonly input: number;
	readonly cacheRead: number;
	readonly cacheWrite: number;
	/** Among those written, the ones written for an hour. */
	readonly cacheWriteForHour?: number;
	readonly output: number;
}

/** Answers without events are held until their end, up to this size. */
const largestHeld = 16 * 1024 * 1024;

/**
 * Reads the usage of an answer while it passes: `push` takes its body unchanged, `end` returns the usage. An answer
 * that cannot be read has none.
 */
export function readUsage(answer: Pick<IncomingMessage, "headers">, api: Api) {
	const { "content-type": type = "", "content-encoding": encoding = "identity" } = answer.headers;
	let found: JsonObject = {};
	let hasDropped = false;
	let cleared = nothingCleared;
	let callsTools = false;
	let hasFailed = false;
	const take = (text: string) => {
		// Anthropic's API lists the reasoning that it has left out, in the first event.
		if (text.includes('"thinking_dropped"') && text.includes('"input_transformations"')) hasDropped = true;
		if (text.includes('"applied_edits"')) cleared = clearedIn(parsed(text)) ?? cleared;
		const mayFail = text.includes('"error"');
		// Most events are pieces of text.
		if (!mayFail && !text.includes('"usage')) return;
		if (/"stop_reason"\s*:\s*"tool_use"/.test(text)) callsTools = true;
		const value = parsed(text);
		hasFailed ||= mayFail && isError(value);
		found = merged(found, usageIn(value));
	};
	const reader = type.startsWith("text/event-stream")
		? eventReader(take)
		: type.startsWith("application/vnd.amazon.eventstream")
			? createAwsEventReader(take, largestEvent)
			: wholeReader(take);
	const decoder = decoderOf(encoding);
	const decoded =
		decoder &&
		new Promise<void>((resolve) => {
			decoder.on("data", reader.push);
			decoder.on("close", resolve);
			decoder.on("error", () => {});
			decoder.on("end", resolve);
		});
	const isReadable = decoder !== undefined || encoding === "identity";
	return {
		push(piece: Buffer): void {
			if (decoder) decoder.write(piece);
			else if (isReadable) reader.push(piece);
		},
		async end(): Promise<Usage | undefined> {
			decoder?.end();
			await decoded;
			reader.end();
			return usageOf(found, api);
		},
		/** Whether the provider has left reasoning out, so that it checks the messages that reasoning is bound to. */
		hasDroppedReasoning: () => hasDropped,
		/** The results that the provider has cleared from the input, by `applied_edits`. */
		cleared: () => cleared,
		/** Whether an answer of Anthropic's API ends with calls of tools. */
		callsTools: () => callsTools,
		/** Whether a provider or a gateway says in an answer of status 200 that it has failed. */
		hasFailed: () => hasFailed,
	};
}

/** Tool uses whose results a provider has cleared from the input of a request, and their tokens. */
export interface Cleared {
	readonly results: number;
	readonly tokens: number;
}

const nothingCleared: Cleared = { results: 0, tokens: 0 };

/** In an answer, or in the last event but one of a stream. */
function clearedIn(value: unknown): Cleared | undefined {
	const { applied_edits: applied } = objectOf(objectOf(value).context_management);
	if (!Array.isArray(applied)) return undefined;
	const edits = objectsOf(applied).filter(({ type }) => /^clear_tool_uses_/.test(String(type)));
	const sumOf = (key: string) => edits.reduce((sum, edit) => sum + tokensIn(edit[key]), 0);
	return { results: sumOf("cleared_tool_uses"), tokens: sumOf("cleared_input_tokens") };
}

/** In an answer or an event of any API; Responses names it in the response of `response.failed`. */
function isError(value: unknown): boolean {
	const last = objectOf(Array.isArray(value) ? value.at(-1) : value);
	return last.type === "error" || isJsonObject(last.error) || isJsonObject(objectOf(last.response).error);
}

function decoderOf(encoding: string) {
	if (encoding === "gzip" || encoding === "x-gzip") return zlib.createGunzip();
	if (encoding === "deflate") return zlib.createInflate();
	return encoding === "br" ? zlib.createBrotliDecompress() : undefined;
}

/** Characters of an event, or of a line without end. Larger ones hold media. */
const largestEvent = 1024 * 1024;

/** Skips an event that is too large, and goes on with the next one. */
function eventReader(take: (text: string) => void) {
	const decoder = new TextDecoder();
	let isSkipping = false;
	const parser = createParser({
		maxBufferSize: largestEvent,
		onEvent: ({ data }) => take(data),
		onError: ({ type }) => {
			isSkipping ||= type === "max-buffer-size-exceeded";
		},
	});
	return {
		push(piece: Buffer): void {
			let text = decoder.decode(piece, { stream: true });
			if (isSkipping) {
				const end = /(?:\n|\r\n?)(?:\n|\r\n?)/.exec(text);
				if (!end) return;
				isSkipping = false;
				parser.reset();
				text = text.slice(end.index + end[0].length);
			}
			parser.feed(text);
		},
		end: () => isSkipping || parser.reset({ consume: true }),
	};
}

function wholeReader(take: (text: string) => void) {
	let chunks: ReturnType<typeof createJoinedChunks> | undefined = createJoinedChunks();
	return {
		push(piece: Buffer): void {
			if (chunks && chunks.length() + piece.length <= largestHeld) chunks.add(piece);
			else chunks = undefined;
		},
		end: () => chunks && take(chunks.bytes().toString("utf8")),
	};
}

function parsed(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

/** Finds the usage in an answer or an event: in the message of Anthropic's first, in the response of Responses' last. */
function usageIn(value: unknown): JsonObject {
	// Gemini's stream without events is a list.
	const last = Array.isArray(value) ? value.at(-1) : value;
	const { usage, usageMetadata, message, response, choices } = objectOf(last);
	const held = [
		usage,
		usageMetadata,
		objectOf(message).usage,
		objectOf(response).usage,
		objectOf(response).usageMetadata,
		// The last choice of a stream of Moonshot.
		objectOf(listOf(choices)[0]).usage,
	];
	return held.find(isJsonObject) ?? {};
}

/** Later events count: their figures are sums. The last one of Anthropic repeats some as null, that of some gateways as 0. */
function merged(found: JsonObject, more: JsonObject): JsonObject {
	const known = Object.entries(more).filter(([key, one]) => one !== null && (one !== 0 || found[key] === undefined));
	return { ...found, ...Object.fromEntries(known) };
}

function usageOf(found: JsonObject, api: Api): Usage | undefined {
	if (api === "anthropic") return anthropicUsage(found);
	if (api === "gemini") {
		if (found.promptTokenCount === undefined) return undefined;
		const output = tokensIn(found.candidatesTokenCount) + tokensIn(found.thoughtsTokenCount);
		const split = splitPrompt(found.promptTokenCount, { read: tokensIn(found.cachedContentTokenCount) });
		// Results of tools that Google runs, such as a page that it reads, are beside the prompt.
		return { ...split, input: split.input + tokensIn(found.toolUsePromptTokenCount), output };
	}
	// Chat completions and Responses.
	const { prompt_cache_hit_tokens: hit, prompt_cache_miss_tokens: miss } = found;
	const prompt =
		found.prompt_tokens ?? found.input_tokens ?? (hit === undefined ? miss : tokensIn(hit) + tokensIn(miss));
	if (prompt === undefined) return undefined;
	const details = objectOf(found.prompt_tokens_details ?? found.input_tokens_details);
	return {
		...splitPrompt(prompt, {
			read: largest([details.cached_tokens, ...readBeside(found)]),
			write: largest([
				details.cache_write_tokens,
				details.cache_creation_tokens,
				found.cache_write_tokens,
				found.cache_creation_input_tokens,
			]),
			creation: details.cache_creation_token_details ?? found.cache_creation,
		}),
		output: tokensIn(found.completion_tokens ?? found.output_tokens),
	};
}

/** `input_tokens` are those that were neither read nor written, unless an endpoint reports the tokens read in a field of its own. */
function anthropicUsage(found: JsonObject): Usage | undefined {
	if (found.inputTokens !== undefined) return converseUsage(found);
	if (found.input_tokens === undefined) return undefined;
	const output = tokensIn(found.output_tokens);
	const write = tokensIn(found.cache_creation_input_tokens);
	const beside = largest([found.cached_tokens, found.prompt_cache_hit_tokens]);
	if (found.cache_read_input_tokens === undefined && beside > 0)
		return { ...splitPrompt(found.input_tokens, { read: beside, write }), output };
	return {
		input: tokensIn(found.input_tokens),
		cacheRead: tokensIn(found.cache_read_input_tokens),
		cacheWrite: write,
		...hourOf(found.cache_creation, write),
		output,
	};
}

/** Of "Converse" (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_TokenUsage.html). */
function converseUsage(found: JsonObject): Usage {
	return {
		input: tokensIn(found.inputTokens),
		cacheRead: tokensIn(found.cacheReadInputTokens),
		cacheWrite: tokensIn(found.cacheWriteInputTokens),
		output: tokensIn(found.outputTokens),
	};
}

/** Outside the details of OpenAI: DeepSeek; Moonshot; LiteLLM for Claude. */
function readBeside(found: JsonObject): readonly unknown[] {
	return [found.prompt_cache_hit_tokens, found.cached_tokens, found.cache_read_input_tokens];
}

/** A prompt that is counted whole. No answer makes its parts more than that. */
function splitPrompt(
	prompt: unknown,
	parts: { readonly read: number; readonly write?: number; readonly creation?: unknown },
): Omit<Usage, "output"> {
	const whole = tokensIn(prompt);
	const cacheRead = Math.min(parts.read, whole);
	const cacheWrite = Math.min(parts.write ?? 0, whole - cacheRead);
	return { input: whole - cacheRead - cacheWrite, cacheRead, cacheWrite, ...hourOf(parts.creation, cacheWrite) };
}

function hourOf(creation: unknown, written: number): Pick<Usage, "cacheWriteForHour"> {
	const { ephemeral_1h_input_tokens: tokens } = objectOf(creation);
	return typeof tokens === "number" ? { cacheWriteForHour: Math.min(tokensIn(tokens), written) } : {};
}

function largest(values: readonly unknown[]): number {
	return Math.max(...values.map(tokensIn));
}

/** An answer may hold any number. One that cannot be a count of tokens is read as 0, so that sums stay finite. */
function tokensIn(value: unknown): number {
	return typeof value === "number" && value >= 0 && value <= Number.MAX_SAFE_INTEGER ? value : 0;
}

export function promptTokens({ input, cacheRead, cacheWrite }: Usage): number {
	return input + cacheRead + cacheWrite;
}

/** The output of an answer to a prompt of some tokens, in prices of an input token. */
export function outputBill(usage: Usage, { prices }: CacheTerms, prompt = promptTokens(usage)): number {
	return usage.output * prices.output * stepFactors(prices, prompt).output;
}

/** US dollars for a bill in prices of an input token. */
export function dollarsOf(billed: number, { dollars, prices }: CacheTerms): number | undefined {
	return dollars && ((billed / prices.input) * dollars.input) / 1_000_000;
}

/** The bill of the input, in prices of an input token. An answer may tell for how long tokens were written. */
export function inputBill(usage: Usage, terms: CacheTerms): number {
	const { prices, writes, reads } = terms;
	const { input, cacheRead, cacheWrite, cacheWriteForHour: forHour } = usage;
	const written =
		forHour === undefined
			? cacheWrite * Math.max(prices.cache_write, writes.minutes)
			: forHour * writes.hour + (cacheWrite - forHour) * writes.minutes;
	const { input: factor } = stepFactors(terms.prices, promptTokens(usage));
	return (input * prices.input + cacheRead * reads + written) * factor;
}
