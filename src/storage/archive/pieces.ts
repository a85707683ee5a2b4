import { createHash, randomUUID } from "node:crypto";
import { constants, readSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { encodeText, firstBytes } from "../../formats/json-text/text-bytes.ts";
import { openNew } from "../files/disk.ts";
import type { OriginalWriter } from "./archive.ts";
import { type Entry, usingPlace } from "./driver.ts";
import type { Ref } from "./reference.ts";

const pieceBytes = 1 << 20;

/** Collects an original in a temporary file, which loses its name at once if possible, so that it is gone after a crash. */
export async function spoolPieces(
	maxBytes: number,
	keep: (spooled: Omit<Entry, "about">, size: { readonly chars: number; readonly bytes: number }) => Promise<Ref>,
): Promise<OriginalWriter> {
	const file = path.join(tmpdir(), `.palimpsest-${randomUUID()}.tmp`);
	const handle = await usingTemporary(() => openNew(file, constants.O_RDWR));
	// Windows cannot remove an open file.
	await rm(file).catch(() => {});
	const digest = createHash("sha256");
	let [bytes, chars] = [0, 0];
	let isWhole = true;
	// Half a character at the end of a piece waits for its other half.
	let rest = "";

	const append = async (text: string): Promise<void> => {
		for (const piece of encodeText(text)) {
			digest.update(piece);
			await usingTemporary(() => handle.writeFile(piece));
			bytes += piece.length;
		}
		chars += text.length;
	};
	const discard = async (): Promise<void> => {
		await handle.close();
		await rm(file, { force: true });
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
				return { ref: await keep({ hash: digest.digest("hex"), pieces }, { chars, bytes }), bytes, isWhole };
			} finally {
				await discard();
			}
		},
		discard,
	};
}

/** Names the folder for temporary files in errors, since it is not that of the archive. */
function usingTemporary<T>(use: () => Promise<T>): Promise<T> {
	return usingPlace(tmpdir(), use, "The folder for temporary files (TMPDIR)");
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

/** Collects an original in memory, for a redaction that has to see it whole. */
export function holdPieces(maxBytes: number, keep: (text: string) => Promise<Ref>): OriginalWriter {
	let text = "";
	let bytes = 0;
	let isWhole = true;
	return {
		async write(piece) {
			if (!isWhole) return;
			const first = firstBytes(piece, maxBytes - bytes);
			text += first.text;
			bytes += first.bytes;
			isWhole = first.text.length === piece.length;
		},
		end: async () => ({ ref: await keep(text), bytes, isWhole }),
		async discard() {},
	};
}
