import { promisify } from "node:util";
import zlib from "node:zlib";

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
