import { isUtf8 } from "node:buffer";
import { randomUUID } from "node:crypto";
import { PalimpsestError } from "../../errors.ts";
import { argumentRanges } from "./argument-ranges.ts";
import { holdArguments } from "./held-arguments.ts";

/** Arguments from this many bytes on are read by the thread that works on them: reading takes as long as the work. */
export const smallestHeld = 64 * 1024;

/**
 * Reads a body as JSON. Large arguments of tool calls are left as bytes, and with `holds` none are read at all.
 *
 * @throws PalimpsestError `invalid_json`. What is wrong within arguments that are held shows when they are read.
 */
export function readBody(bytes: Uint8Array, holds: boolean, smallest = smallestHeld): unknown {
	// A byte replaced by U+FFFD would change the conversation unseen.
	if (!isUtf8(bytes)) throw invalid();
	const ranges = holds && bytes.length >= smallest ? argumentRanges(bytes) : [];
	const large = ranges.filter(({ start, end }) => end - start >= smallest);
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
	for (const message of Array.isArray(body) ? body : [body]) {
		const { method, params } = messageOf(message);
		const index = indexOf(params?.arguments, mark);
		if (params === undefined || index === undefined) continue;
		const { start, end } = large[index] ?? { start: 0, end: 0 };
		// The thread gets the whole memory of what it is given, so one call alone can have it; a slice of a Buffer shares it.
		const own = large.length === 1 ? bytes.subarray(start, end) : new Uint8Array(bytes.subarray(start, end));
		params.arguments = method === "tools/call" ? holdArguments(own) : parse(own);
	}
	return body;
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
