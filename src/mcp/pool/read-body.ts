import { isUtf8 } from "node:buffer";
import { randomUUID } from "node:crypto";
import { PalimpsestError } from "../../errors.ts";
import { argumentRanges, type ByteRange, tooMuchOutside } from "./argument-ranges.ts";
import { holdArguments } from "./held-arguments.ts";

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
