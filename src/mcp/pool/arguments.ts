import { isAscii, isUtf8 } from "node:buffer";
import { randomUUID } from "node:crypto";
import { PalimpsestError } from "../../errors.ts";

/** Arguments from this many bytes on are read by the thread that works on them: reading takes as long as the work. */
export const smallestHeld = 64 * 1024;

/** Arguments from this many bytes on are held where all of them together would be too much to read here. */
const smallestOfMany = 1024;

/** Most that is read here of a body, in bytes: nobody else is answered meanwhile. */
export const largestOutside = 256 * 1024;

/**
 * Reads a body as JSON. With `holds`, large arguments of tool calls are left as bytes for another thread. A body that is
 * large elsewhere is refused before it is read.
 *
 * @throws PalimpsestError `invalid_json`, `payload_too_large`, or `invalid_argument` for too many messages in a batch. What
 * is wrong within arguments that are held shows when they are read.
 */
export function readBody(bytes: Uint8Array, holds: boolean, smallest = smallestHeld): unknown {
	// A byte replaced by U+FFFD would change the conversation unseen.
	if (!isUtf8(bytes)) throw invalid();
	const large = largeArguments(bytes, holds ? smallest : largestOutside);
	if (large.length === 0) return parse(bytes);

	// No client can know it, so what stands for a range is always ours.
	const mark = randomUUID();
	const pieces: Uint8Array[] = [];
	let last = 0;
	for (const [index, { start, end }] of large.entries()) {
		pieces.push(bytes.subarray(last, start), Buffer.from(`"${mark} ${index}"`));
		last = end;
	}
	pieces.push(bytes.subarray(last));
	const body = parse(Buffer.concat(pieces));
	let outside = bytes.length - lengthOf(large);
	for (const message of Array.isArray(body) ? body : [body]) {
		const { method, params } = messageOf(message);
		const index = indexOf(params?.arguments, mark);
		if (params === undefined || index === undefined) continue;
		const { start, end } = large[index] ?? { start: 0, end: 0 };
		// The thread gets the whole memory of what it is given, so one call alone can have it; a slice of a Buffer shares it.
		const own = large.length === 1 ? bytes.subarray(start, end) : new Uint8Array(bytes.subarray(start, end));
		const isCall = method === "tools/call";
		if (!isCall) outside += own.length;
		if (outside > largestOutside) throw tooMuchOutside(largestOutside);
		params.arguments = isCall && holds ? holdArguments(own) : parse(own);
	}
	return body;
}

/** The arguments that are not read with the rest of a body; more of them where the rest would be too large otherwise. */
function largeArguments(bytes: Uint8Array, smallest: number): readonly ByteRange[] {
	const limits = { smallest: Math.min(smallest, smallestOfMany), mostOutside: largestOutside };
	const ranges = argumentRanges(bytes, limits);
	const large = ranges.filter(({ start, end }) => end - start >= smallest);
	return bytes.length - lengthOf(large) > largestOutside ? ranges : large;
}

function lengthOf(ranges: readonly ByteRange[]): number {
	return ranges.reduce((sum, { start, end }) => sum + end - start, 0);
}

type Params = { arguments?: unknown };

function messageOf(message: unknown): { readonly method?: unknown; readonly params?: Params } {
	if (typeof message !== "object" || message === null) return {};
	const { method, params } = message as { readonly method?: unknown; readonly params?: unknown };
	return { method, ...(typeof params === "object" && params !== null ? { params } : {}) };
}

function indexOf(value: unknown, mark: string): number | undefined {
	if (typeof value !== "string" || !value.startsWith(`${mark} `)) return undefined;
	return Number(value.slice(mark.length + 1));
}

function parse(bytes: Uint8Array): unknown {
	try {
		return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
	} catch {
		throw invalid();
	}
}

function invalid(): PalimpsestError {
	return new PalimpsestError("invalid_json", "Expected a body of JSON in UTF-8.");
}

/** A part of a text, in bytes; half open. */
export interface ByteRange {
	readonly start: number;
	readonly end: number;
}

/** Which arguments are looked for, and how much may stand around them. */
export interface ArgumentLimits {
	/** Arguments of fewer bytes are not worth finding: they count as outside. */
	readonly smallest: number;
	/** Most bytes outside the arguments that are found, of all messages of a batch together. */
	readonly mostOutside: number;
}

/** Most messages of a batch, as in the SDK. */
const mostMessages = 100;

/** Most members and items outside of what arguments hold. The SDK's schemas take 5 µs for each; a batch of 100 calls has 800. */
const mostValues = 2_000;

const [openBracket, openBrace] = [0x5b, 0x7b];

/**
 * Finds the values of `params.arguments` in a JSON-RPC message, or in each of a batch, without reading them. This takes
 * less time than `JSON.parse`, and makes nothing that would have to be copied for another thread. The result means nothing
 * when the text is no JSON. It stops as soon as too much stands outside, so that nobody waits for a large message that is
 * refused anyway.
 *
 * @throws PalimpsestError `payload_too_large`; `invalid_argument` for too many messages in a batch.
 */
export function argumentRanges(bytes: Uint8Array, { smallest, mostOutside }: ArgumentLimits): readonly ByteRange[] {
	const found: ByteRange[] = [];
	let inside = 0;
	let values = 0;
	const scan = scanJson(bytes);
	const checked = (at: number): number => {
		if (at - inside > mostOutside) throw tooMuchOutside(mostOutside);
		if (values > mostValues) throw tooManyValues();
		return at;
	};
	const countValue = (): undefined => {
		values += 1;
	};
	const skip = (from: number): number => checked(scan.skipValue(from, inside + mostOutside + 1, countValue));
	const members = (at: number, visit: (key: string, value: number) => number): number => {
		if (bytes[at] !== openBrace) return Math.max(skip(at), at + 1);
		return scan.members(at, (key, value) => {
			countValue();
			return visit(key, checked(value));
		});
	};
	const argumentsAt = (start: number): number => {
		const end = scan.skipValue(start);
		// The SDK only sees that they are an object; each tool checks what its own hold.
		if (end - start <= mostOutside) scan.members(start, countValue);
		if (end - start >= smallest) {
			found.push({ start, end });
			inside += end - start;
		}
		return checked(end);
	};
	const params = (at: number): number =>
		members(at, (key, value) => (key === "arguments" ? argumentsAt(value) : skip(value)));
	const message = (at: number): number => members(at, (key, value) => (key === "params" ? params(value) : skip(value)));
	const first = scan.skipBlanks(0);
	const isBatch = bytes[first] === openBracket;
	let at = isBatch ? scan.skipBlanks(first + 1) : first;
	let messages = 0;
	do {
		messages += 1;
		if (messages > mostMessages) throw tooManyMessages();
		const comma = scan.skipBlanks(message(at));
		at = scan.skipBlanks(comma + 1);
	} while (isBatch && at < bytes.length);
	checked(bytes.length);
	return found;
}

/** The refusal of a message that is large elsewhere than in a tool call's arguments. */
export function tooMuchOutside(limit: number): PalimpsestError {
	const message = `Expected at most ${limit} bytes of a JSON-RPC message outside the arguments of a tool call. Put conversations and texts into params.arguments of tools/call.`;
	return new PalimpsestError("payload_too_large", message);
}

function tooManyValues(): PalimpsestError {
	const message = `Expected at most ${mostValues} members and items of a JSON-RPC message outside the arguments of a tool call. Send fewer.`;
	return new PalimpsestError("payload_too_large", message);
}

function tooManyMessages(): PalimpsestError {
	return new PalimpsestError("invalid_argument", `Expected at most ${mostMessages} messages in a batch. Send fewer.`);
}

const held = new WeakMap<object, Uint8Array>();

/** The only member of arguments that are held; a client's own member of that name holds nothing. */
const member = "held";

/** Arguments that nobody has read yet. They go through the SDK, which copies them, and come out the same. */
export function holdArguments(bytes: Uint8Array): Record<string, unknown> {
	const handle = {};
	held.set(handle, bytes);
	return { [member]: handle };
}

/** The bytes of arguments that are held; `undefined` for those that were read already. */
export function heldArguments(given: Readonly<Record<string, unknown>> | undefined): Uint8Array | undefined {
	const handle = given?.[member];
	return typeof handle === "object" && handle !== null ? held.get(handle) : undefined;
}

/**
 * Reads arguments that were held.
 *
 * @throws PalimpsestError `invalid_json`.
 */
export function readArguments(bytes: Uint8Array): unknown {
	try {
		return JSON.parse(textOf(bytes));
	} catch {
		throw new PalimpsestError("invalid_json", "Expected the arguments to be JSON in UTF-8.");
	}
}

function textOf(bytes: Uint8Array): string {
	// What has but one byte a character is copied, and not decoded.
	if (isAscii(bytes)) return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
	// Fatal, since a byte replaced by U+FFFD would change the conversation unseen.
	return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
}

/** Ways through JSON in UTF-8, in bytes. */
export interface JsonScan {
	readonly skipBlanks: (from: number) => number;
	/** From where a value begins. It stops looking at `end`, and calls `onComma` for each comma within the value. */
	readonly skipValue: (from: number, end?: number, onComma?: () => void) => number;
	/** Goes through an object's members; `visit` answers with the place behind a value that it passed itself. */
	readonly members: (from: number, visit: (key: string, value: number) => number | undefined) => number;
	/** From behind one of a list's values to the bracket that closes the list. */
	readonly listEnd: (from: number) => number;
}

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a];

const [openBracketOfScanJson, closeBracket, openBraceOfScanJson, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Bytes of a string that are looked at one by one. */
const nearBytes = 32;

/**
 * Goes through JSON in UTF-8 without reading it. Every function takes a place and answers with the place behind what it
 * passed; in a text that is no JSON that means nothing.
 */
export function scanJson(bytes: Uint8Array): JsonScan {
	const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	const skipBlanks = (from: number): number => {
		let at = from;
		// Beside blanks a byte order mark, which is only let through at the beginning of a body.
		while (at < bytes.length && (isBlank(bytes[at]) || (at < 3 && (bytes[at] ?? 0) > 0x7f))) at += 1;
		return at;
	};
	const skipString = (from: number): number => {
		let at = from + 1;
		// Most strings are short; for the long ones, which are most of the text, a native search is ten times as fast.
		for (const near = Math.min(at + nearBytes, bytes.length); at < near; ) {
			const byte = bytes[at];
			if (byte === quote) return at + 1;
			at += byte === backslash ? 2 : 1;
		}
		for (let begin = at; ; ) {
			const found = buffer.indexOf(quote, begin);
			if (found < 0) return bytes.length;
			let escapes = 0;
			while (found - escapes > at && bytes[found - escapes - 1] === backslash) escapes += 1;
			if (escapes % 2 === 0) return found + 1;
			begin = found + 1;
			at = begin;
		}
	};
	const skipValue = (from: number, end = bytes.length, onComma?: () => void): number => {
		let at = from;
		let depth = 0;
		while (at < end && at < bytes.length) {
			const byte = bytes[at];
			if (byte === quote) {
				at = skipString(at);
				if (depth === 0) return at;
				continue;
			}
			if (byte === openBraceOfScanJson || byte === openBracketOfScanJson) depth += 1;
			else if (byte === closeBrace || byte === closeBracket) {
				// The end of what is around a number or word.
				if (depth === 0) return at;
				depth -= 1;
				if (depth === 0) return at + 1;
			} else if (depth === 0 && (byte === comma || isBlank(byte))) return at;
			else if (byte === comma) onComma?.();
			at += 1;
		}
		return at;
	};
	const members = (from: number, visit: (key: string, value: number) => number | undefined): number => {
		if (bytes[from] !== openBraceOfScanJson) return Math.max(skipValue(from), from + 1);
		let at = skipBlanks(from + 1);
		while (at < bytes.length && bytes[at] === quote) {
			const afterKey = skipString(at);
			const key = textOfKey(buffer.subarray(at, afterKey));
			at = skipBlanks(afterKey);
			if (bytes[at] !== colon) break;
			const value = skipBlanks(at + 1);
			at = skipBlanks(visit(key, value) ?? skipValue(value));
			if (bytes[at] === comma) at = skipBlanks(at + 1);
		}
		return at + 1;
	};
	const listEnd = (from: number): number => {
		let at = skipBlanks(from);
		while (bytes[at] === comma) at = skipBlanks(skipValue(skipBlanks(at + 1)));
		return at;
	};
	return { skipBlanks, skipValue, members, listEnd };
}

function isBlank(byte: number | undefined): boolean {
	return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** Longest key that is looked at: `arguments` with each of its letters escaped. */
const longestKey = 60;

function textOfKey(bytes: Buffer): string {
	if (bytes.length > longestKey) return "";
	// Keys are compared with ASCII names only. To decode each takes ten times as long, and a client may send many.
	if (!bytes.includes(backslash)) return bytes.toString("latin1", 1, bytes.length - 1);
	try {
		return String(JSON.parse(bytes.toString()));
	} catch {
		return "";
	}
}
