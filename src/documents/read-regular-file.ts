import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { PalimpsestError } from "../errors.ts";
import { releasableBytes } from "./releasable-bytes.ts";

/**
 * Reads a regular file of bounded size. It is opened first and looked at through its handle, so that what is checked is
 * what is read whatever happens to the name meanwhile; devices and pipes are refused without waiting for them.
 *
 * @throws PalimpsestError `unreadable_file`; `payload_too_large` past `maxBytes`.
 */
export async function readRegularFile(file: string, maxBytes: number): Promise<Buffer> {
	let handle: FileHandle | undefined;
	try {
		handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
		return await readHandle(handle, file, maxBytes);
	} catch (error) {
		if (error instanceof PalimpsestError) throw error;
		const { code } = error as NodeJS.ErrnoException;
		const reason = code === "ENOENT" || code === "ENOTDIR" ? "there is no such file" : String(code);
		throw new PalimpsestError("unreadable_file", `Cannot read ${file}: ${reason}.`, { cause: error });
	} finally {
		await handle?.close();
	}
}

/** Reads an open file; see `readRegularFile`. */
export async function readHandle(handle: FileHandle, file: string, maxBytes: number): Promise<Buffer> {
	const about = await handle.stat();
	if (!about.isFile()) {
		const kind = about.isDirectory() ? "a folder" : "no regular file";
		throw new PalimpsestError(
			"unreadable_file",
			`Cannot read ${file}: it is ${kind}. Name a file, or - for standard input.`,
		);
	}
	if (about.size > maxBytes) throw tooLarge(file, about.size, maxBytes);
	// The file may grow while it is read; one byte more than it had tells.
	const buffer = releasableBytes(about.size + 1);
	let length = 0;
	while (length < buffer.length) {
		const { bytesRead } = await handle.read(buffer, length, buffer.length - length, length);
		if (bytesRead === 0) return buffer.subarray(0, length);
		length += bytesRead;
	}
	throw new PalimpsestError("unreadable_file", `${file} grew while it was read. Try again.`);
}

function tooLarge(file: string, bytes: number, maxBytes: number): PalimpsestError {
	return new PalimpsestError(
		"payload_too_large",
		`${file} has ${bytes} bytes or more; limits.max_file_bytes in the policy allows ${maxBytes}.`,
	);
}
