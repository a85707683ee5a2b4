import { isUtf8 } from "node:buffer";
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import { PalimpsestError } from "../errors.ts";
import { createBodyHold } from "../operations/http/body.ts";
import type { ArchiveLocation } from "../storage/archive/open.ts";

/** Larger arguments, in bytes, are parsed by the thread that works on them: parsing takes as long as the work. */
const smallestHeld = 64 * 1024;

/** Most bytes of a body that are parsed here: no other request is answered during that time. */
const mostOutside = 256 * 1024;

/** Most members and items outside the arguments. The SDK's schemas take 5 µs for each; a batch of 100 calls has 800. */
const mostValues = 2_000;

type ByteRange = Readonly<Record<"start" | "end", number>>;

/**
 * Parses a body of JSON. With `holds`, large arguments of tool calls stay bytes, for another thread. A body that is
 * large elsewhere is refused before it is parsed. Throws `invalid_json`, `payload_too_large` or `invalid_argument`.
 */
function readBody(given: Uint8Array, holds: boolean): unknown {
	// Replacing a byte by U+FFFD would silently change the conversation.
	if (!isUtf8(given)) throw new PalimpsestError("invalid_json", "Expected a body of JSON in UTF-8.");
	const hasByteOrderMark = given[0] === 0xef && given[1] === 0xbb && given[2] === 0xbf;
	const bytes = hasByteOrderMark ? given.subarray(3) : given;
	const large = largeArguments(bytes, holds ? smallestHeld : mostOutside);
	if (large.length === 0) return parse(bytes, "a body of");

	// No client can guess it, so a string that begins with it always means a range.
	const mark = `${randomUUID()} `;
	const pieces: Uint8Array[] = [];
	let last = 0;
	for (const [index, { start, end }] of large.entries()) {
		pieces.push(bytes.subarray(last, start), Buffer.from(`"${mark}${index}"`));
		last = end;
	}
	pieces.push(bytes.subarray(last));
	const body = parse(Buffer.concat(pieces), "a body of");
	let outside = bytes.length - lengthOf(large);
	for (const message of Array.isArray(body) ? body : [body]) {
		const params = isJsonObject(message) && isJsonObject(message.params) ? message.params : {};
		if (typeof params.arguments !== "string" || !params.arguments.startsWith(mark)) continue;
		const { start, end } = large[Number(params.arguments.slice(mark.length))] as ByteRange;
		// The memory of these bytes moves to the thread, so several calls must not share it. (A Buffer's slice does.)
		const own = large.length === 1 ? bytes.subarray(start, end) : new Uint8Array(bytes.subarray(start, end));
		const isCall = message.method === "tools/call";
		if (!isCall) outside += own.length;
		if (outside > mostOutside) throw tooMuchOutside();
		Object.assign(params, { arguments: isCall && holds ? holdArguments(own) : parse(own, "a body of") });
	}
	return body;
}

const held = new WeakMap<object, Uint8Array>();

/** Arguments that are not parsed yet. The SDK copies them, but not the object inside. */
function holdArguments(bytes: Uint8Array): JsonObject {
	const handle = {};
	held.set(handle, bytes);
	return { held: handle };
}

/** The bytes of held arguments; `undefined` for parsed ones, even if a client adds a member of this name. */
export function heldArguments(given: JsonObject | undefined): Uint8Array | undefined {
	return isJsonObject(given?.held) ? held.get(given.held) : undefined;
}

export function readArguments(bytes: Uint8Array): unknown {
	return parse(bytes, "the arguments to be");
}

/** Whether a call may hold up other clients. An original in the memory of this thread can only be searched here. */
export function belongsInPool(
	{ name, arguments: given }: { readonly name: string; readonly arguments?: JsonObject | undefined },
	location: ArchiveLocation | undefined,
): boolean {
	if (heldArguments(given) !== undefined) return true;
	if (name === "recall_original") return given?.grep !== undefined && location?.where !== "memory";
	return given?.path !== undefined;
}

function parse(bytes: Uint8Array, expected: string): unknown {
	try {
		return JSON.parse(bufferOf(bytes).toString());
	} catch {
		throw new PalimpsestError("invalid_json", `Expected ${expected} JSON in UTF-8.`);
	}
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
	return Buffer.from(buffer, byteOffset, byteLength);
}

/** Smaller arguments too, if all of them together are too much to parse here. */
function largeArguments(bytes: Uint8Array, smallest: number): readonly ByteRange[] {
	const ranges = argumentRanges(bytes);
	const large = ranges.filter(({ start, end }) => end - start >= smallest);
	return bytes.length - lengthOf(large) > mostOutside ? ranges : large;
}

function lengthOf(ranges: readonly ByteRange[]): number {
	return ranges.reduce((sum, { start, end }) => sum + end - start, 0);
}

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a];
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Finds the ranges without parsing, in less time than `JSON.parse`. It stops as soon as there is too much outside the arguments. */
function argumentRanges(bytes: Uint8Array): readonly ByteRange[] {
	const found: ByteRange[] = [];
	let inside = 0;
	let values = 0;
	const { skipBlanks, skipValue, skipMembers } = scanJson(bytes);
	const checked = (at: number): number => {
		if (at - inside > mostOutside) throw tooMuchOutside();
		if (values > mostValues) throw tooMuchOutside(`${mostValues} members and items`, "Send fewer.");
		return at;
	};
	const countValue = (): undefined => {
		values += 1;
	};
	const skip = (from: number): number => checked(skipValue(from, inside + mostOutside + 1, countValue));
	/** Passes over an object; `visit` passes over the value of one member. */
	const skipObject = (at: number, name: string, visit: (value: number) => number): number => {
		if (bytes[at] !== openBrace) return Math.max(skip(at), at + 1);
		return skipMembers(at, (key, value) => {
			countValue();
			checked(value);
			return key === name ? visit(value) : skip(value);
		});
	};
	const argumentsAt = (start: number): number => {
		const end = skipValue(start);
		// The SDK only checks that they are an object; each tool checks its own.
		if (end - start <= mostOutside) skipMembers(start, countValue);
		found.push({ start, end });
		inside += end - start;
		return checked(end);
	};
	const message = (at: number): number =>
		skipObject(at, "params", (params) => skipObject(params, "arguments", argumentsAt));
	const first = skipBlanks(0);
	const isBatch = bytes[first] === openBracket;
	let at = isBatch ? skipBlanks(first + 1) : first;
	let messages = 0;
	do {
		messages += 1;
		if (messages > 100) {
			throw new PalimpsestError("invalid_argument", "Expected at most 100 messages in a batch. Send fewer.");
		}
		at = skipBlanks(skipBlanks(message(at)) + 1);
	} while (isBatch && at < bytes.length);
	checked(bytes.length);
	return found;
}

const intoArguments = "Put conversations and texts into params.arguments of tools/call.";

function tooMuchOutside(limit = `${mostOutside} bytes`, advice = intoArguments): PalimpsestError {
	const expected = `Expected at most ${limit} of a JSON-RPC message outside the arguments of a tool call.`;
	return new PalimpsestError("payload_too_large", `${expected} ${advice}`);
}

/** Each function takes a position in JSON and returns the position after the part that it passes over. */
function scanJson(bytes: Uint8Array) {
	const buffer = bufferOf(bytes);
	const skipBlanks = (from: number): number => {
		let at = from;
		while (at < bytes.length && isBlank(bytes[at])) at += 1;
		return at;
	};
	const skipString = (from: number): number => {
		let at = from + 1;
		// Most strings are short. For long ones, which are most of the text, a native search is ten times as fast.
		for (const near = Math.min(at + 32, bytes.length); at < near; ) {
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
	/** Stops at `end`, and calls `onComma` for each comma within the value. */
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
			if (byte === openBrace || byte === openBracket) depth += 1;
			else if (byte === closeBrace || byte === closeBracket) {
				// At depth 0 this ends the object or list around a number or word.
				if (depth === 0) return at;
				depth -= 1;
				if (depth === 0) return at + 1;
			} else if (depth === 0 && (byte === comma || isBlank(byte))) return at;
			else if (byte === comma) onComma?.();
			at += 1;
		}
		return at;
	};
	/** `visit` may return the position after a value that it passed over itself. */
	const skipMembers = (from: number, visit: (key: string, value: number) => number | undefined): number => {
		if (bytes[from] !== openBrace) return Math.max(skipValue(from), from + 1);
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
	return { skipBlanks, skipValue, skipMembers };
}

const isBlank = (byte?: number) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

function textOfKey(bytes: Buffer): string {
	// Longer than `arguments` with each of its letters escaped.
	if (bytes.length > 60) return "";
	// Keys are compared with ASCII names only. Decoding each takes ten times as long, and a client may send many.
	if (!bytes.includes(backslash)) return bytes.toString("latin1", 1, bytes.length - 1);
	try {
		return String(JSON.parse(bytes.toString()));
	} catch {
		return "";
	}
}

// ---- Receiving a body ----

export type BodyReader = ReturnType<typeof createBodyReader>;

/** Makes a reader that never holds more memory than the limit, however many clients send, in chunks of any size. */
export function createBodyReader(limits: {
	readonly bytesOfOne: number;
	readonly bytesOfAll: number;
	readonly holdsArguments?: boolean;
}) {
	const { bytesOfOne, bytesOfAll, holdsArguments = false } = limits;
	const hold = createBodyHold({ bytesOfOne, bytesOfAll, endsTinyPieces: true });

	const readBytes = async (request: IncomingMessage): Promise<Buffer> => {
		const arrived = await hold.read(request);
		if (arrived.kind === "whole") {
			arrived.release();
			return arrived.bytes;
		}
		arrived.discard();
		if (arrived.kind === "no_room") throw new PalimpsestError("rate_limit", tooMany);
		throw arrived.kind === "too_large" ? tooLarge(bytesOfOne) : new PalimpsestError("invalid_argument", tinyPieces);
	};

	return {
		/** Throws as `readBody`, `payload_too_large`, `rate_limit` for all bodies together, and if the client left. */
		read: async (request: IncomingMessage): Promise<unknown> => readBody(await readBytes(request), holdsArguments),
	};
}

const tinyPieces = "Expected a body in pieces of 16 bytes or more on average. Send it in larger pieces.";

const tooMany = "Too many large requests arrive at the same time. Try again in a moment.";

function tooLarge(limit: number): PalimpsestError {
	const message = `Expected a body of at most ${limit} bytes. Send a shorter conversation, or use the server on standard input and output.`;
	return new PalimpsestError("payload_too_large", message);
}

// ---- The revision of the protocol ----

// Since revision 2026-07-28 there is no handshake: each request names its revision, in its body and over HTTP in a header.
const revisionMember = "io.modelcontextprotocol/protocolVersion";

/** Whether the body is, or holds, a message of the era without a handshake. Its SDK checks the revision itself. */
export function namesRevision(body: unknown): boolean {
	const messages: readonly unknown[] = Array.isArray(body) ? body : [body];
	return messages.some((message) => {
		const params = isJsonObject(message) ? message.params : undefined;
		return isJsonObject(params) && isJsonObject(params._meta) && revisionMember in params._meta;
	});
}

/** Whether a request over HTTP is of that era by its header. Earlier revisions send theirs after the handshake. */
export function headerNamesRevision(header: string | string[] | undefined): boolean {
	return typeof header === "string" && header.trim() >= "2026";
}
