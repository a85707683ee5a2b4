import { PalimpsestError } from "../../errors.ts";

/** The name of a session without the ending of its packing. Codex packs a rollout that has rested for a week. */
export function unpackedName(file: string): string {
	return file.replace(/(\.jsonl?)\.zst$/i, "$1");
}

/** Frames of Zstandard, and those that a reader skips (RFC 8878, section 3.1). */
function kindOfFrame(bytes: Uint8Array, at: number): "frame" | "skipped" | undefined {
	const [first = 0, second, third, fourth] = bytes.subarray(at, at + 4);
	if (first === 0x28 && second === 0xb5 && third === 0x2f && fourth === 0xfd) return "frame";
	return first >> 4 === 0x5 && second === 0x2a && third === 0x4d && fourth === 0x18 ? "skipped" : undefined;
}

/** What a reader holds for a frame. RFC 8878 (section 3.1.1.1.2) asks for 8 MB; `zstd` writes more with --ultra or --long only. */
const mostWindowBytes = 8 << 20;

/** The library moves its window at each block. */
const mostMovedBytes = 2 ** 35;

/** A header alone would make the library take up to 2 GB. Ends at what is damaged: the library says so. */
function needsTooMuch(bytes: Buffer): boolean {
	let moved = 0;
	let at = 0;
	for (let kind = kindOfFrame(bytes, at); kind !== undefined; kind = kindOfFrame(bytes, at)) {
		// A whole frame may be shorter than the longest header.
		const header = Buffer.alloc(longestHeader);
		bytes.copy(header, 0, at);
		if (kind === "skipped") {
			at += 8 + header.readUInt32LE(4);
			continue;
		}
		const { windowBytes, headerBytes, checksumBytes } = readHeader(header);
		if (windowBytes > mostWindowBytes) return true;
		at += headerBytes;
		for (let isLast = false; !isLast && at + 3 <= bytes.length; ) {
			const block = bytes.readUIntLE(at, 3);
			isLast = (block & 1) === 1;
			// A block of one byte, repeated.
			at += 3 + (((block >> 1) & 3) === 1 ? 1 : block >> 3);
			moved += windowBytes;
		}
		at += checksumBytes;
	}
	return moved > mostMovedBytes;
}

const longestHeader = 18;

/** RFC 8878, section 3.1.1.1. */
function readHeader(header: Buffer) {
	const descriptor = header.readUInt8(4);
	const isSingle = ((descriptor >> 5) & 1) === 1;
	const dictionaryBytes = [0, 1, 2, 4][descriptor & 3] as number;
	const sizeBytes = [isSingle ? 1 : 0, 2, 4, 8][descriptor >> 6] as number;
	const sizeAt = (isSingle ? 5 : 6) + dictionaryBytes;
	const checksumBytes = ((descriptor >> 2) & 1) * 4;
	const headerBytes = sizeAt + sizeBytes;
	if (!isSingle) {
		const window = header.readUInt8(5);
		const least = 2 ** (10 + (window >> 3));
		return { windowBytes: least + (least / 8) * (window & 7), headerBytes, checksumBytes };
	}
	const size = sizeBytes === 8 ? Number(header.readBigUInt64LE(sizeAt)) : header.readUIntLE(sizeAt, sizeBytes);
	return { windowBytes: size + (sizeBytes === 2 ? 256 : 0), headerBytes, checksumBytes };
}

/** Read at once, so that a file stops at the limit early. */
const pieceBytes = 1 << 16;

/**
 * The content of a file that is packed by Zstandard; any other file as it is. Throws PalimpsestError `unreadable_file` for a
 * damaged one and for one that takes too much memory or time, `payload_too_large` for more than `mostBytes`.
 */
export async function unpack(
	bytes: Buffer,
	{ name, mostBytes }: { readonly name: string; readonly mostBytes: number },
) {
	if (kindOfFrame(bytes, 0) === undefined) return bytes;
	if (needsTooMuch(bytes)) {
		const message = `Cannot unpack ${name}: expected frames of Zstandard with a window of at most ${mostWindowBytes} bytes; got a larger one, or too many small blocks. Unpack it by \`zstd -d --long=31\`, and name the unpacked file.`;
		throw new PalimpsestError("unreadable_file", message);
	}
	// Node.js 20 has no Zstandard.
	const { Decompress } = await import("fzstd");
	const pieces: Uint8Array[] = [];
	let length = 0;
	const stream = new Decompress((piece) => {
		length += piece.length;
		if (length > mostBytes) {
			const message = `${name} has more than ${mostBytes} bytes when it is unpacked; limits.max_file_bytes in the policy allows ${mostBytes}.`;
			throw new PalimpsestError("payload_too_large", message);
		}
		pieces.push(piece);
	});
	try {
		for (let start = 0; start < bytes.length; start += pieceBytes) {
			const end = Math.min(start + pieceBytes, bytes.length);
			stream.push(bytes.subarray(start, end), end === bytes.length);
		}
	} catch (cause) {
		if (cause instanceof PalimpsestError) throw cause;
		const message = `Cannot unpack ${name}: expected a whole file of Zstandard; got a damaged one. Unpack it by \`zstd -d\`, or name another file.`;
		throw new PalimpsestError("unreadable_file", message, { cause });
	}
	return Buffer.concat(pieces);
}
