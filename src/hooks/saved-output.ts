import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

/** Bytes of a saved output that is read at most: some 4 s of work, where a hook has 8 s before its result passes as it is. */
export const mostSavedBytes = 128 * 1024 * 1024;

/** Characters that a host may put around the part of an output that it shows, beside the name of the file. */
const mostNoticeChars = 2_000;

/**
 * Opens the file into which a host has saved an output; `undefined` for anything but a regular file of bounded size. It is
 * opened before it is looked at, so that the file that was checked is the file that is read. The caller closes it.
 */
export async function openSavedOutput(file: string): Promise<FileHandle | undefined> {
	// Without O_NONBLOCK, opening a pipe would wait for a writer. Windows has neither flag.
	const { O_RDONLY, O_NONBLOCK = 0, O_NOFOLLOW = 0 } = constants;
	const handle = await open(file, O_RDONLY | O_NONBLOCK | O_NOFOLLOW).catch(() => undefined);
	const about = await handle?.stat();
	if (about?.isFile() && about.size <= mostSavedBytes) return handle;
	await handle?.close();
	return undefined;
}

/**
 * Whether a saved output is the whole of the text that a host shows: the text has to be the beginning of the file, its
 * end, or both, but for the host's own notice. Metadata alone proves nothing, since a tool may put any path there.
 */
export async function isWholeOf(handle: FileHandle, shown: { readonly text: string; readonly file: string }) {
	const text = Buffer.from(shown.text);
	const { size } = await handle.stat();
	const length = Math.min(size, text.length);
	const first = await readAt(handle, 0, length);
	const last = await readAt(handle, size - length, length);
	const same = commonStart(text, first) + commonEnd(text, last);
	return same >= text.length - mostNoticeChars - Buffer.byteLength(shown.file) && same >= text.length / 2;
}

/** The note of opencode's shell about how a command ended, such as a time-out. It stands behind the output, in no file. */
export function shellNoteOf(text: string): string {
	const from = text.lastIndexOf("\n\n<shell_metadata>\n");
	const isNote = from !== -1 && text.endsWith("\n</shell_metadata>") && text.length - from <= mostNoticeChars;
	return isNote ? text.slice(from) : "";
}

async function readAt(handle: FileHandle, position: number, length: number): Promise<Buffer> {
	const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, position);
	return buffer.subarray(0, bytesRead);
}

function commonStart(one: Buffer, other: Buffer): number {
	const most = Math.min(one.length, other.length);
	let same = 0;
	while (same < most && one[same] === other[same]) same += 1;
	return same;
}

function commonEnd(one: Buffer, other: Buffer): number {
	const most = Math.min(one.length, other.length);
	let same = 0;
	while (same < most && one[one.length - 1 - same] === other[other.length - 1 - same]) same += 1;
	return same;
}
