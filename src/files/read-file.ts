import { constants as bufferConstants, isUtf8 } from "node:buffer";
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { PalimpsestError } from "../errors.ts";

/**
 * Reads a regular file of bounded size. The file is opened first and checked through its handle, so that the file that is
 * checked is the one that is read. Devices and pipes are refused without waiting for them.
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
	// One byte more than the file had, to notice a file that grows while it is read.
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

/**
 * Decodes UTF-8, keeping a byte order mark. The memory of bytes that `readRegularFile` or `readHandle` read is released.
 *
 * @throws PalimpsestError `invalid_json` where the bytes are not UTF-8: a byte replaced by U+FFFD would change the
 * conversation without notice; `payload_too_large` where they make more text than a string can hold.
 */
export function decodeText(bytes: Uint8Array, name: string): string {
	// A text has at most as many characters as bytes, and exactly as many where all are ASCII.
	if (bytes.length > bufferConstants.MAX_STRING_LENGTH) {
		throw new PalimpsestError(
			"payload_too_large",
			`${name} has ${bytes.length} bytes; ${bufferConstants.MAX_STRING_LENGTH} are the most that can be edited.`,
		);
	}
	if (!isUtf8(bytes)) throw new PalimpsestError("invalid_json", `Expected UTF-8 text; ${name} holds other bytes.`);
	// A `TextDecoder` takes two bytes for each character, even of ASCII.
	const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
	releaseBytes(bytes);
	return text;
}

/** A buffer that can shrink. Node has had it since 20; it is part of ES2024. */
interface ShrinkableBuffer extends ArrayBuffer {
	resize(length: number): void;
}
type ShrinkableConstructor = new (length: number, options: { readonly maxByteLength: number }) => ShrinkableBuffer;

/** Bytes whose memory can be released at once: the garbage collector may keep a large file for too long. */
function releasableBytes(length: number): Buffer<ArrayBuffer> {
	const Shrinkable = ArrayBuffer as unknown as ShrinkableConstructor;
	return Buffer.from(new Shrinkable(length, { maxByteLength: length }));
}

/** Releases the memory of such bytes, after which they are empty; leaves any other bytes alone. */
function releaseBytes({ buffer }: Uint8Array): void {
	if ("resizable" in buffer && buffer.resizable === true) (buffer as unknown as ShrinkableBuffer).resize(0);
}
