import type { IncomingMessage } from "node:http";
import zlib from "node:zlib";
import { createParser } from "eventsource-parser";
import { isJsonObject, type JsonObject } from "../../engine/conversation/json.ts";
import { objectOf, objectsOf, stringAt } from "../../formats/json-text/value.ts";
import { createJoinedChunks } from "../../operations/http/body.ts";
import { createAwsEventReader } from "./aws-event-stream.ts";
import type { Api } from "./observed-caching.ts";
import { type Served, servedByHeaders, servedIn } from "./served.ts";
import type { Usage } from "./usage.ts";
import { mergedUsage, tokensIn, usageIn, usageOf } from "./usage-fields.ts";

/** Answers without events are held until their end, up to this size. */
const largestHeld = 16 * 1024 * 1024;

/**
 * Reads the usage of an answer while it passes: `push` takes its body unchanged, `end` returns the usage. An answer
 * that cannot be read has none.
 */
export function readUsage(answer: Pick<IncomingMessage, "headers">, api: Api) {
	const { "content-type": type = "", "content-encoding": encoding = "identity" } = answer.headers;
	let found: JsonObject = {};
	let served = servedByHeaders(answer.headers);
	let hasDropped = false;
	let cleared = nothingCleared;
	let callsTools = false;
	let hasFailed = false;
	let isToldWhole = false;
	let id: string | undefined;
	let missReason: string | undefined;
	const take = (text: string) => {
		// Anthropic's API lists the reasoning that it has left out, in the first event.
		if (text.includes('"thinking_dropped"') && text.includes('"input_transformations"')) hasDropped = true;
		if (text.includes('"applied_edits"')) cleared = clearedIn(parsed(text)) ?? cleared;
		const mayFail = text.includes('"error"');
		// Most events are pieces of text.
		if (!mayFail && !/usage\w*"/i.test(text)) return;
		if (/"stop_reason"\s*:\s*"tool_use"/.test(text)) callsTools = true;
		const value = parsed(text);
		hasFailed ||= mayFail && isError(value);
		const message = objectOf(objectOf(value).message ?? value);
		id ??= stringAt(message, "id");
		for (const part of [message, objectOf(objectOf(value).delta)])
			missReason = stringAt(objectOf(objectOf(part.diagnostics).cache_miss_reason), "type") ?? missReason;
		const usage = usageIn(value);
		served = { ...served, ...servedIn(value, usage) };
		if (Object.keys(usage).length === 0) return;
		found = mergedUsage(found, usage);
		isToldWhole ||= !isStream || endsOutput(value, text);
	};
	const isOfEvents = type.startsWith("text/event-stream");
	const isStream = isOfEvents || type.startsWith("application/vnd.amazon.eventstream");
	const reader = isOfEvents
		? eventReader(take)
		: isStream
			? createAwsEventReader(take, largestHeld)
			: wholeReader(take);
	const decoder = decoders[encoding]?.();
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
			const usage = usageOf(found, api);
			return usage && !isToldWhole ? { ...usage, isCut: true } : usage;
		},
		/** What the answer says of its price. */
		served: (): Served => served,
		/** Whether the provider has left reasoning out, so that it checks the messages that reasoning is bound to. */
		hasDroppedReasoning: () => hasDropped,
		/** The results that the provider has cleared from the input, by `applied_edits`. */
		cleared: () => cleared,
		/** Of Anthropic's API: the answer's name, and why its cache could not be read, where it was asked. */
		diagnosed: () => ({ id, missReason }),
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

/** Anthropic's first event tells the input alone, Gemini's events the output so far, and those of Responses nothing but the last. */
function endsOutput(value: unknown, text: string): boolean {
	const { type, usageMetadata, response } = objectOf(Array.isArray(value) ? value.at(-1) : value);
	if (type === "message_start") return false;
	const isOfGemini = usageMetadata !== undefined || objectOf(response).usageMetadata !== undefined;
	return !isOfGemini || text.includes('"finishReason"');
}

type Decoder = () => zlib.Gunzip | zlib.Inflate | zlib.BrotliDecompress;

const decoders: Readonly<Record<string, Decoder | undefined>> = {
	gzip: zlib.createGunzip,
	"x-gzip": zlib.createGunzip,
	deflate: zlib.createInflate,
	br: zlib.createBrotliDecompress,
};

/**
 * The value of an Accept-Encoding header without encodings that are not read here: a provider that packs an answer so makes its usage
 * unknown. `*` stands for all others.
 */
export function readableEncodings(offered: string): string {
	const isRead = (one: string) => /^(?:identity|gzip|x-gzip|deflate|br) *(?:;|$)|; *q=0(?:\.0*)? *$/i.test(one);
	const kept = offered.split(",").filter((one) => isRead(one.trim()));
	return kept.length > 0 ? kept.join(",").trim() : "identity";
}

/** Characters of an event, or of a line without end, that are held. Larger ones hold media, or are the last of a long answer. */
const largestEvent = 1024 * 1024;
/** The end of a larger event that is looked at: the usage of Responses follows the output. */
const longestEnd = 64 * 1024;

/** Reads of an event that is too large its end alone, and goes on with the next one. */
function eventReader(take: (text: string) => void) {
	const decoder = new TextDecoder();
	let skipped: string | undefined;
	let isTooLarge = false;
	const parser = createParser({
		maxBufferSize: largestEvent,
		onEvent: ({ data }) => take(data),
		onError: ({ type }) => {
			isTooLarge ||= type === "max-buffer-size-exceeded";
		},
	});
	const endSkipped = (end: string): void => {
		const usage = lastUsage(end.replace(/[\r\n]+data: ?/g, "\n"));
		if (usage !== undefined) take(usage);
		skipped = undefined;
	};
	return {
		push(piece: Buffer): void {
			let text = decoder.decode(piece, { stream: true });
			while (text !== "") {
				if (skipped === undefined) {
					parser.feed(text);
					if (!isTooLarge) return;
					parser.reset();
					isTooLarge = false;
					skipped = "";
				}
				const end = /(?:\n|\r\n?)(?:\n|\r\n?)/.exec(text);
				const begin = text.slice(0, end?.index);
				skipped = (skipped + begin).slice(-longestEnd);
				if (!end) return;
				endSkipped(skipped);
				text = text.slice(end.index + end[0].length);
			}
		},
		end(): void {
			if (skipped === undefined) parser.reset({ consume: true });
			else endSkipped(skipped);
		},
	};
}

/** The last usage in the end of a JSON text, as an answer that holds it and the tier alone; `undefined` if there is none. */
function lastUsage(end: string): string | undefined {
	const start = Array.from(end.matchAll(/(?<!\\)"(usage(?:Metadata)?)"\s*:\s*\{/g)).at(-1);
	if (!start) return undefined;
	const tier = /(?<!\\)"service_tier"\s*:\s*"\w+"/.exec(end)?.[0];
	const from = start.index + start[0].length - 1;
	for (let at = end.indexOf("}", from); at !== -1; at = end.indexOf("}", at + 1)) {
		const text = `{"${start[1]}":${end.slice(from, at + 1)}${tier ? `,${tier}` : ""}}`;
		if (parsed(text) !== undefined) return text;
		if (at - from > longestUsage) return undefined;
	}
	return undefined;
}

const longestUsage = 8 * 1024;

function wholeReader(take: (text: string) => void) {
	let chunks: ReturnType<typeof createJoinedChunks> | undefined = createJoinedChunks();
	let end = Buffer.alloc(0);
	return {
		push(piece: Buffer): void {
			if (chunks && chunks.length() + piece.length <= largestHeld) {
				chunks.add(piece);
				return;
			}
			end = Buffer.concat([chunks?.bytes().subarray(-longestEnd) ?? end, piece]).subarray(-longestEnd);
			chunks = undefined;
		},
		end(): void {
			const text = chunks ? chunks.bytes().toString("utf8") : lastUsage(end.toString("utf8"));
			if (text !== undefined) take(text);
		},
	};
}

function parsed(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}
