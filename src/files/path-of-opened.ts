import { type FileHandle, readlink } from "node:fs/promises";

/**
 * Where an open file or folder really stands, whatever its name leads to by now; `undefined` where the system does not
 * tell, which is everywhere but on Linux.
 */
export function pathOfOpened(handle: FileHandle): Promise<string | undefined> {
	return readlink(`/proc/self/fd/${handle.fd}`).catch(() => undefined);
}
