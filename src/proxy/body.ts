import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { promisify } from "node:util";
import zlib from "node:zlib";

/** The start of a larger body is passed on with the rest of it. */
type ReadBody =
	| { readonly kind: "whole"; readonly bytes: Buffer }
	| { readonly kind: "too_large"; readonly stream: Readable };

/** Reads the body of a request up to a limit. Rejects if the client leaves. */
export function readBody(request: IncomingMessage, mostBytes: number): Promise<ReadBody> {
	return new Promise((resolve, reject) => {
		const pieces: Buffer[] = [];
		let bytes = 0;
		const take = (piece: Buffer) => {
			pieces.push(piece);
			bytes += piece.length;
			if (bytes <= mostBytes) return;
			request.off("data", take);
			request.pause();
			resolve({ kind: "too_large", stream: Readable.from(withStart(pieces, request)) });
		};
		request.on("data", take);
		request.on("end", () => resolve({ kind: "whole", bytes: Buffer.concat(pieces) }));
		request.on("error", reject);
	});
}

async function* withStart(start: readonly Buffer[], rest: AsyncIterable<Buffer>) {
	yield* start;
	yield* rest;
}

/** A window of a million tokens has some 3 000 messages, and each of these some six members and items. */
const mostValues = 100_000;
const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];

/** Whether JSON has so many members and items that parsing it would hold up everybody else. Does not parse. */
export function hasTooManyValues(bytes: Buffer): boolean {
	// Each of them takes two bytes or more.
	if (bytes.length < 2 * mostValues) return false;
	let values = 0;
	for (let at = 0; at < bytes.length && values <= mostValues; at += 1) {
		if (bytes[at] === comma) values += 1;
		if (bytes[at] === quote) at = endOfString(bytes, at);
	}
	return values > mostValues;
}

function endOfString(bytes: Buffer, start: number): number {
	for (let end = bytes.indexOf(quote, start + 1); end !== -1; end = bytes.indexOf(quote, end + 1)) {
		let escapes = 0;
		while (bytes[end - 1 - escapes] === backslash) escapes += 1;
		if (escapes % 2 === 0) return end;
	}
	return bytes.length;
}

type Decode = (bytes: Buffer, options: { readonly maxOutputLength: number }) => Promise<Buffer>;

const inflate = promisify(zlib.inflate) as Decode;
const inflateRaw = promisify(zlib.inflateRaw) as Decode;
// Node 20 has no zstd.
const zstd = (zlib as { readonly zstdDecompress?: typeof zlib.gunzip }).zstdDecompress;

const decoders: Readonly<Record<string, Decode | undefined>> = {
	gzip: promisify(zlib.gunzip) as Decode,
	"x-gzip": promisify(zlib.gunzip) as Decode,
	br: promisify(zlib.brotliDecompress) as Decode,
	// RFC 9110 means zlib's format; some programs send the bare one.
	deflate: (bytes, options) => inflate(bytes, options).catch(() => inflateRaw(bytes, options)),
	zstd: zstd && (promisify(zstd) as Decode),
};

/** Takes the encodings of a `Content-Encoding` header off a body. `undefined` if one is not known here or not true. */
export async function decodeBody(bytes: Buffer, encoding: string | undefined, mostBytes: number) {
	const encodings = (encoding ?? "")
		.split(",")
		.map((name) => name.trim().toLowerCase())
		.filter((name) => name !== "" && name !== "identity");
	let decoded = bytes;
	for (const name of encodings.reverse()) {
		const decode = Object.hasOwn(decoders, name) ? decoders[name] : undefined;
		if (!decode) return undefined;
		try {
			decoded = await decode(decoded, { maxOutputLength: mostBytes });
		} catch {
			return undefined;
		}
	}
	return decoded;
}
