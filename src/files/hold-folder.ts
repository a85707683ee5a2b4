import { constants } from "node:fs";
import { type FileHandle, open, realpath } from "node:fs/promises";
import { pathOfOpened } from "./path-of-opened.ts";

/** A folder that stays the same one while it is held, whatever its name leads to by then. */
export interface HeldFolder {
	/** Where it stands. */
	readonly real: string;
	/** The path under which to use its files. On systems other than Linux the same, so that nothing is held. */
	readonly base: string;
	readonly release: () => Promise<void>;
}

/** Opens a folder and holds it. Fails with the error of the file system. */
export async function holdFolder(folder: string): Promise<HeldFolder> {
	const real = await realpath(folder);
	const byName = { real, base: real, release: async () => {} };
	if (process.platform !== "linux") return byName;
	const handle: FileHandle = await open(real, constants.O_RDONLY | constants.O_DIRECTORY);
	const opened = await pathOfOpened(handle);
	if (opened !== undefined) return { real: opened, base: `/proc/self/fd/${handle.fd}`, release: () => handle.close() };
	await handle.close();
	return byName;
}
