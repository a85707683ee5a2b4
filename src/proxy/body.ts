import { promisify } from "node:util";
import zlib from "node:zlib";

/** A window of a million tokens has some 3 000 messages, and each of these some six members and items. */
const mostValues = 100_000;
const [quote, backslash, comma, bracket, brace] = [0x22, 0x5c, 0x2c, 0x5b, 0x7b];

/**
 * Whether JSON has so many members and items, or so many lists and objects, that parsing it would hold up everybody else.
 * Does not parse.
 */
export function hasTooManyValues(bytes: Buffer): boolean {
	// Each of them takes a byte or more.
	if (bytes.length < mostValues) return false;
	let [values, holders] = [0, 0];
	for (let at = 0; at < bytes.length && values <= mostValues && holders <= mostValues; at += 1) {
		const byte = bytes[at];
		if (byte === comma) values += 1;
		else if (byte === bracket || byte === brace) holders += 1;
		else if (byte === quote) at = endOfString(bytes, at);
	}
	return values > mostValues || holders > mostValues;
}

/** Bytes that are looked at one by one before a native search goes on: escaped quotes would end each search at once. */
const nearBytes = 256;

function endOfString(bytes: Buffer, start: number): number {
	for (let at = start + 1; at < bytes.length; ) {
		const near = Math.min(at + nearBytes, bytes.length);
		while (at < near) {
			if (bytes[at] === quote) return at;
			at += bytes[at] === backslash ? 2 : 1;
		}
		const found = bytes.indexOf(quote, at);
		if (found === -1) return bytes.length;
		let escapes = 0;
		while (found - escapes > at && bytes[found - escapes - 1] === backslash) escapes += 1;
		if (escapes % 2 === 0) return found;
		at = found + 1;
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
