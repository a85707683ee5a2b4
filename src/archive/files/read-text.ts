import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { isAbsent } from "./folder-access.ts";

const pieceBytes = 1 << 17;

/** Opens a regular file to read; `undefined` where there is none. */
export async function openToRead(file: string): Promise<FileHandle | undefined> {
	try {
		const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
		// Without O_NONBLOCK, opening a pipe would wait for a writer.
		const handle = await open(file, O_RDONLY | (O_NOFOLLOW ?? 0) | (O_NONBLOCK ?? 0));
		if ((await handle.stat()).isFile()) return handle;
		await handle.close();
		return undefined;
	} catch (error) {
		const { code } = error as NodeJS.ErrnoException;
		if (isAbsent(error) || code === "ELOOP" || code === "EISDIR") return undefined;
		throw error;
	}
}

/** The bytes of an open file, piece by piece; closes it at the end. */
export async function* piecesOf(handle: FileHandle): AsyncGenerator<Buffer> {
	try {
		for (;;) {
			const { bytesRead, buffer } = await handle.read({ buffer: Buffer.allocUnsafe(pieceBytes) });
			if (bytesRead === 0) return;
			yield buffer.subarray(0, bytesRead);
		}
	} finally {
		await handle.close();
	}
}

/** Whether a file holds the bytes of a hash. */
export async function holds(file: string, hash: string): Promise<boolean> {
	const handle = await openToRead(file);
	if (handle === undefined) return false;
	const digest = createHash("sha256");
	for await (const piece of piecesOf(handle)) digest.update(piece);
	return digest.digest("hex") === hash;
}
