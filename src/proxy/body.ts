import { promisify } from "node:util";
import zlib from "node:zlib";

type Decode = (
	bytes: Buffer,
	options: { readonly maxOutputLength: number; readonly chunkSize: number },
) => Promise<Buffer>;

const inflate = promisify(zlib.inflate) as Decode;
const inflateRaw = promisify(zlib.inflateRaw) as Decode;
// Node 20 has no zstd.
const zstd = (zlib as { readonly zstdDecompress?: typeof zlib.gunzip }).zstdDecompress;

const decoders: Readonly<Record<string, Decode | undefined>> = {
	gzip: promisify(zlib.gunzip) as Decode,
	"x-gzip": promisify(zlib.gunzip) as Decode,
	br: promisify(zlib.brotliDecompress) as Decode,
	// RFC 9110 means zlib's format; some programs send the bare one.
	deflate: (bytes, options) =>
		inflate(bytes, options).catch((error: unknown) => {
			if (isTooLarge(error)) throw error;
			return inflateRaw(bytes, options);
		}),
	zstd: zstd && (promisify(zstd) as Decode),
};

const chunkSize = 256 * 1024;

export type Decoded = Buffer | "unknown" | "too_large";

/** Takes the encodings of a `Content-Encoding` header off a body. `unknown`: one is not known here or not true. */
export async function decodeBody(bytes: Buffer, encoding: string | undefined, mostBytes: number): Promise<Decoded> {
	const encodings = (encoding ?? "")
		.split(",")
		.map((name) => name.trim().toLowerCase())
		.filter((name) => name !== "" && name !== "identity");
	let decoded = bytes;
	for (const name of encodings.reverse()) {
		const decode = Object.hasOwn(decoders, name) ? decoders[name] : undefined;
		if (!decode) return "unknown";
		try {
			decoded = await decode(decoded, { maxOutputLength: mostBytes, chunkSize: Math.min(chunkSize, mostBytes) });
		} catch (error) {
			return isTooLarge(error) ? "too_large" : "unknown";
		}
	}
	return decoded;
}

function isTooLarge(error: unknown): boolean {
	return (error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE";
}

/** Bodies that are decoded at once. Nobody knows how large one becomes, so the others wait their turn. */
const mostAtOnce = 2;

let decoding = 0;
const waiting: (() => void)[] = [];

/** The same for a body of a request, of which a client may send any number. */
export async function decodeInTurn(...given: Parameters<typeof decodeBody>): ReturnType<typeof decodeBody> {
	if (decoding >= mostAtOnce) await new Promise<void>((resolve) => waiting.push(resolve));
	else decoding += 1;
	try {
		return await decodeBody(...given);
	} finally {
		const next = waiting.shift();
		if (next) next();
		else decoding -= 1;
	}
}
