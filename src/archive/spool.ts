import { createHash, randomUUID } from "node:crypto";
import { constants, readSync } from "node:fs";
import { type FileHandle, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { OriginalWriter } from "./archive.ts";
import { usingPlace } from "./driver.ts";
import type { Ref } from "./reference.ts";
import { encodeText, firstBytes } from "./text-bytes.ts";

/** An original that was spooled, ready to be stored. */
export interface Spooled {
	/** SHA-256 (hex) of its bytes. */
	readonly hash: string;
	/** The bytes, piece by piece, from the start at each call. */
	readonly pieces: () => Iterable<Buffer>;
	readonly chars: number;
	readonly bytes: number;
}

const pieceBytes = 1 << 20;

/**
 * Takes an original piece by piece into a temporary file, up to `maxBytes`, and then keeps it. Where the system allows
 * it, the file loses its name at once, so that nothing of it stays behind and nobody else opens it.
 *
 * @throws PalimpsestError `archive_unavailable` where nothing can be written there, from every function.
 */
export async function spoolPieces(maxBytes: number, keep: (spooled: Spooled) => Promise<Ref>): Promise<OriginalWriter> {
	const file = path.join(tmpdir(), `.palimpsest-${randomUUID()}.tmp`);
	const { O_CREAT, O_EXCL, O_RDWR, O_NOFOLLOW } = constants;
	const handle = await usingTemporary(() => open(file, O_CREAT | O_EXCL | O_RDWR | (O_NOFOLLOW ?? 0), 0o600));
	const isNameless = await rm(file).then(
		() => true,
		() => false,
	);
	const digest = createHash("sha256");
	let [bytes, chars] = [0, 0];
	let isWhole = true;
	// Half a character at the end of a piece waits for its other half.
	let rest = "";

	const append = async (text: string): Promise<void> => {
		for (const piece of encodeText(text)) {
			digest.update(piece);
			await usingTemporary(() => writeAll(handle, piece, bytes));
			bytes += piece.length;
		}
		chars += text.length;
	};
	const discard = async (): Promise<void> => {
		await handle.close();
		if (!isNameless) await rm(file, { force: true });
	};
	return {
		async write(given) {
			if (!isWhole) return;
			const piece = rest + given;
			rest = /[\uD800-\uDBFF]$/.exec(piece)?.[0] ?? "";
			const ready = piece.slice(0, piece.length - rest.length);
			const first = firstBytes(ready, maxBytes - bytes);
			isWhole = first.text.length === ready.length;
			if (!isWhole) rest = "";
			await append(first.text);
		},
		async end() {
			try {
				if (bytes + 3 * rest.length > maxBytes) isWhole = false;
				else await append(rest);
				const pieces = () => piecesOf(handle.fd, bytes);
				return { ref: await keep({ hash: digest.digest("hex"), pieces, chars, bytes }), bytes, isWhole };
			} finally {
				await discard();
			}
		},
		discard,
	};
}

/** Names the folder for temporary files in errors: the cause is not in the folder of the archive. */
function usingTemporary<T>(use: () => Promise<T>): Promise<T> {
	return usingPlace(tmpdir(), use, "The folder for temporary files (TMPDIR)");
}

async function writeAll(handle: FileHandle, piece: Buffer, position: number): Promise<void> {
	let done = 0;
	while (done < piece.length) {
		const { bytesWritten } = await handle.write(piece, done, piece.length - done, position + done);
		done += bytesWritten;
	}
}

function* piecesOf(fd: number, bytes: number): Generator<Buffer> {
	for (let start = 0; start < bytes; ) {
		const piece = Buffer.allocUnsafe(Math.min(pieceBytes, bytes - start));
		const read = readSync(fd, piece, 0, piece.length, start);
		if (read === 0) return;
		yield piece.subarray(0, read);
		start += read;
	}
}

/** Takes an original piece by piece and holds it, up to `maxBytes`, until it can be kept. */
export function holdPieces(maxBytes: number, keep: (text: string) => Promise<Ref>): OriginalWriter {
	let held: string[] = [];
	let bytes = 0;
	let isWhole = true;
	return {
		async write(piece) {
			if (!isWhole) return;
			const first = firstBytes(piece, maxBytes - bytes);
			held.push(first.text);
			bytes += first.bytes;
			isWhole = first.text.length === piece.length;
		},
		async end() {
			const text = held.join("");
			held = [];
			return { ref: await keep(text), bytes, isWhole };
		},
		async discard() {
			held = [];
		},
	};
}
