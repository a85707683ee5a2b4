import { PalimpsestError } from "../errors.ts";

/** The name of a session without the ending of its packing. Codex packs a rollout that has rested for a week. */
export function unpackedName(file: string): string {
	return file.replace(/(\.jsonl?)\.zst$/i, "$1");
}

/** Frames of Zstandard, and those that a reader skips (RFC 8878, section 3.1). */
function isPacked(bytes: Uint8Array): boolean {
	const [first = 0, second, third, fourth] = bytes;
	const isFrame = first === 0x28 && second === 0xb5 && third === 0x2f && fourth === 0xfd;
	return isFrame || (first >> 4 === 0x5 && second === 0x2a && third === 0x4d && fourth === 0x18);
}

/** Read at once, so that a file stops at the limit early. */
const pieceBytes = 1 << 16;

/**
 * The content of a file that is packed by Zstandard; any other file as it is. Throws PalimpsestError `unreadable_file` for a
 * damaged one, `payload_too_large` for more than `mostBytes`.
 */
export async function unpack(
	bytes: Buffer,
	{ name, mostBytes }: { readonly name: string; readonly mostBytes: number },
) {
	if (!isPacked(bytes)) return bytes;
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
		// The library uses the memory of a piece again.
		pieces.push(Uint8Array.from(piece));
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
