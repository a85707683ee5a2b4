import { createHash } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readdir } from "node:fs/promises";

/** Whether a file or folder was not there. */
export function isAbsent(error: unknown): boolean {
	return (error as NodeJS.ErrnoException).code === "ENOENT";
}

/** Takes the error of an absent file for `undefined`; throws any other. */
export function undefinedIfAbsent(error: unknown): undefined {
	if (!isAbsent(error)) throw error;
}

/** What the file system knows of a file, a link not followed; `undefined` where it is absent. */
export async function statIfThere(file: string): Promise<Stats | undefined> {
	return lstat(file).catch(undefinedIfAbsent);
}

/** The names in a folder; none where it is absent. */
export async function namesIn(folder: string): Promise<string[]> {
	return (await readdir(folder).catch(undefinedIfAbsent)) ?? [];
}

/** Does something in a folder. Where the folder is absent, makes it and does it again. */
export async function inFolder<T>(folder: string, act: () => Promise<T>): Promise<T> {
	// Another process may delete the folder as soon as it is made. One that keeps doing so wins.
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
		// On a read-only file system, a recursive `mkdir` fails with ENOENT; one of a single level tells the reason.
		if (!isAbsent(error)) throw error;
		await mkdir(folder, { mode: 0o700 });
	}
}

/** Makes an empty file, whose name is its message, or renews the time of one. */
export async function putEmptyFile(file: string, at: number): Promise<void> {
	const handle = await open(file, constants.O_CREAT | constants.O_WRONLY | (constants.O_NOFOLLOW ?? 0), 0o600);
	await handle.utimes(new Date(at), new Date(at)).finally(() => handle.close());
}

/** Writes a folder's list of names to the disk, where the system can. */
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

const pieceBytes = 1 << 17;

/** Opens a regular file for reading; `undefined` if the file does not exist. */
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

/** Does something with each item, a few at a time. After a failure it begins nothing new. */
export async function inParallel<T>(
	items: readonly T[],
	atATime: number,
	act: (item: T) => Promise<void>,
): Promise<void> {
	let next = 0;
	let failed = false;
	const workers = Array.from({ length: Math.min(atATime, items.length) }, async () => {
		while (next < items.length && !failed) {
			const item = items[next] as T;
			next += 1;
			await act(item).catch((error) => {
				failed = true;
				throw error;
			});
		}
	});
	const settled = await Promise.allSettled(workers);
	const failure = settled.find((one) => one.status === "rejected");
	if (failure !== undefined) throw failure.reason;
}
