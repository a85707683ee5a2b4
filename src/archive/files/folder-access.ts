import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { mkdir, open, readdir, rename, rm } from "node:fs/promises";
import path from "node:path";

/** Whether a file or folder was not there. */
export function isAbsent(error: unknown): boolean {
	const { code } = error as NodeJS.ErrnoException;
	return code === "ENOENT";
}

/** The names in a folder; none where it is absent. */
export async function namesIn(folder: string): Promise<string[]> {
	try {
		return await readdir(folder);
	} catch (error) {
		if (isAbsent(error)) return [];
		throw error;
	}
}

/** Does what needs a folder; makes the folder and does it again where it was absent. */
export async function inFolder<T>(folder: string, act: () => Promise<T>): Promise<T> {
	// A folder may be deleted again as soon as it is made; somebody who keeps doing that wins.
	for (let attempt = 0; attempt < 5; attempt += 1) {
		try {
			return await act();
		} catch (error) {
			if (!isAbsent(error)) throw error;
			await makeFolder(folder);
		}
	}
	return act();
}

async function makeFolder(folder: string): Promise<void> {
	try {
		await mkdir(folder, { recursive: true, mode: 0o700 });
	} catch (error) {
		// On a read-only file system, Node says that the folder is absent; one level alone tells the reason.
		if (!isAbsent(error)) throw error;
		await mkdir(folder, { mode: 0o700 });
	}
}

/** What to write. */
export interface FileToPut {
	readonly file: string;
	readonly pieces: Iterable<Buffer>;
	/** When it was written, in ms since 1970. */
	readonly at: number;
	/** Whether it has to be on the disk, come what may, before this returns. */
	readonly sync: boolean;
}

/** Writes a file of this user alone that is there whole or not at all, over an older one of its name. */
export async function putFile({ file, pieces, at, sync }: FileToPut): Promise<void> {
	const temporary = path.join(path.dirname(file), `.${randomUUID()}.tmp`);
	const { O_CREAT, O_EXCL, O_WRONLY, O_NOFOLLOW } = constants;
	// Windows has no O_NOFOLLOW.
	const handle = await open(temporary, O_CREAT | O_EXCL | O_WRONLY | (O_NOFOLLOW ?? 0), 0o600);
	try {
		try {
			for (const piece of pieces) await handle.writeFile(piece);
			await handle.utimes(new Date(at), new Date(at));
			if (sync) await handle.sync();
		} finally {
			await handle.close();
		}
		await rename(temporary, file);
	} catch (error) {
		await rm(temporary, { force: true }).catch(() => {});
		throw error;
	}
}

/** Makes an empty file, whose name says all, or renews the time of one. */
export async function putEmptyFile(file: string, at: number): Promise<void> {
	const handle = await open(file, constants.O_CREAT | constants.O_WRONLY | (constants.O_NOFOLLOW ?? 0), 0o600);
	await handle.utimes(new Date(at), new Date(at)).finally(() => handle.close());
}

/** Puts a folder's list of names on the disk, where the system can. */
export async function syncFolder(folder: string): Promise<void> {
	try {
		const handle = await open(folder, constants.O_RDONLY);
		await handle.sync().finally(() => handle.close());
	} catch (error) {
		// Windows opens no folders, and some file systems sync none.
		if (!["ENOENT", "EISDIR", "EPERM", "EACCES", "EINVAL"].includes(String((error as NodeJS.ErrnoException).code))) {
			throw error;
		}
	}
}
