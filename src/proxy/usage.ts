import type { IncomingMessage } from "node:http";
import zlib from "node:zlib";
import { createParser } from "eventsource-parser";
import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import { objectOf } from "../json-text/value.ts";
import type { Api } from "./routes.ts";
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
 * Reads the usage of an answer while it passes: `push` takes its body as it came, `end` tells what was found. An answer
 * that cannot be read has none.
 */
export function readUsage(answer: Pick<IncomingMessage, "headers">, api: Api) {
	const { "content-type": type = "", "content-encoding": encoding = "identity" } = answer.headers;
	let found: JsonObject = {};
	const take = (text: string) => {
		// Most events are pieces of text.
		if (!text.includes('"usage')) return;
		found = { ...found, ...usageIn(parsed(text)) };
	};
	const reader = type.startsWith("text/event-stream") ? eventReader(take) : wholeReader(take);
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
	};
}

function decoderOf(encoding: string) {
	if (encoding === "gzip" || encoding === "x-gzip") return zlib.createGunzip();
	if (encoding === "deflate") return zlib.createInflate();
	return encoding === "br" ? zlib.createBrotliDecompress() : undefined;
}

function eventReader(take: (text: string) => void) {
	const decoder = new TextDecoder();
	const parser = createParser({ onEvent: ({ data }) => take(data) });
	return {
		push: (piece: Buffer) => parser.feed(decoder.decode(piece, { stream: true })),
		end: () => parser.reset({ consume: true }),
	};
}

function wholeReader(take: (text: string) => void) {
	const pieces: Buffer[] = [];
	let bytes = 0;
	return {
		push(piece: Buffer): void {
			bytes += piece.length;
			if (bytes <= largestHeld) pieces.push(piece);
			else pieces.splice(0);
		},
		end: () => take(Buffer.concat(pieces).toString("utf8")),
	};
}

function parsed(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

/** In an answer, or in an event: of Anthropic's first, in its message; of Responses' last, in its response. */
function usageIn(value: unknown): JsonObject {
	// Gemini's stream without events is a list.
	const last = Array.isArray(value) ? value.at(-1) : value;
	const { usage, usageMetadata, message, response } = objectOf(last);
	const held = [
		usage,
		usageMetadata,
		objectOf(message).usage,
		objectOf(response).usage,
		objectOf(response).usageMetadata,
	];
	const known = Object.entries(held.find(isJsonObject) ?? {});
	// The last event of Anthropic repeats some fields as null.
	return Object.fromEntries(known.filter(([, one]) => one !== null));
}

function usageOf(found: JsonObject, api: Api): Usage | undefined {
	if (api === "anthropic") {
		if (found.input_tokens === undefined) return undefined;
		return {
			input: tokensIn(found.input_tokens),
			cacheRead: tokensIn(found.cache_read_input_tokens),
			cacheWrite: tokensIn(found.cache_creation_input_tokens),
			...hourOf(found.cache_creation),
			output: tokensIn(found.output_tokens),
		};
	}
	if (api === "gemini") {
		if (found.promptTokenCount === undefined) return undefined;
		const cacheRead = tokensIn(found.cachedContentTokenCount);
		const output = tokensIn(found.candidatesTokenCount) + tokensIn(found.thoughtsTokenCount);
		return { input: tokensIn(found.promptTokenCount) - cacheRead, cacheRead, cacheWrite: 0, output };
	}
	// Chat completions and Responses.
	const input = found.prompt_tokens ?? found.input_tokens;
	if (input === undefined) return undefined;
	const details = objectOf(found.prompt_tokens_details ?? found.input_tokens_details);
	const cacheRead = tokensIn(details.cached_tokens);
	const output = tokensIn(found.completion_tokens ?? found.output_tokens);
	return { input: tokensIn(input) - cacheRead, cacheRead, cacheWrite: 0, output };
}

function hourOf(creation: unknown): Pick<Usage, "cacheWriteForHour"> {
	const { ephemeral_1h_input_tokens: tokens } = objectOf(creation);
	return typeof tokens === "number" ? { cacheWriteForHour: tokensIn(tokens) } : {};
}

/** An answer may hold any number. One that cannot be a count of tokens is read as 0, so that sums stay finite. */
function tokensIn(value: unknown): number {
	return typeof value === "number" && value >= 0 && value <= Number.MAX_SAFE_INTEGER ? value : 0;
}

/** The bill of the input, in prices of an input token. An answer may tell for how long tokens were written. */
export function inputBill(usage: Usage, { prices, writes }: CacheTerms): number {
	const { input, cacheRead, cacheWrite, cacheWriteForHour: forHour } = usage;
	const written =
		forHour === undefined
			? cacheWrite * prices.cache_write
			: forHour * writes.hour + (cacheWrite - forHour) * writes.minutes;
	return input * prices.input + cacheRead * prices.cache_read + written;
}
