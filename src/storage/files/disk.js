import { createHash, randomUUID } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { lstat, mkdir, open, readdir, rename, unlink } from "node:fs/promises";
import path from "node:path";

const { O_CREAT, O_EXCL, O_RDONLY, O_RDWR, O_WRONLY } = constants;
// Windows has neither of these.
const O_NOFOLLOW = constants.O_NOFOLLOW ?? 0;
const O_NONBLOCK = constants.O_NONBLOCK ?? 0;
export function undefinedIfAbsent(error) {
	if (error.code !== "ENOENT") throw error;
}
export async function statIfThere(file) {
	return lstat(file).catch(undefinedIfAbsent);
}
export async function namesIn(folder) {
	return (await readdir(folder).catch(undefinedIfAbsent)) ?? [];
}
/** Creates the folder if it is absent, and tries again. The caller syncs the folder's parent if the folder has to last. */
export async function inFolder(folder, act) {
	// Another process may delete the new folder at once. After five attempts this gives up.
	for (let attempt = 0; attempt < 5; attempt += 1) {
		try {
			return await act();
		} catch (error) {
			undefinedIfAbsent(error);
			// On a read-only file system a recursive `mkdir` fails with ENOENT. A plain one reports the real reason.
			const made = mkdir(folder, { recursive: true, mode: 0o700 });
			const first = await made.catch((reason) => undefinedIfAbsent(reason) ?? mkdir(folder, { mode: 0o700 }));
			if (first !== undefined) await syncAbove(path.dirname(path.resolve(folder)), first);
		}
	}
	return act();
}
/** A new folder survives a power loss only if its parent is synced. `first` is the highest new folder. */
async function syncAbove(folder, first) {
	const highest = path.dirname(path.resolve(first));
	for (let at = folder; at !== highest && at !== path.dirname(at); ) {
		at = path.dirname(at);
		await sync(at);
	}
}
export function openNew(file, access) {
	return open(file, O_CREAT | O_EXCL | O_NOFOLLOW | access, 0o600);
}
/**
 * Writes a temporary file next to `file`, which `place` then renames, so that the file is complete or absent. Where
 * `place` fails, the temporary file is deleted.
 */
export async function putWhole(file, write, place) {
	const temporary = path.join(path.dirname(file), `.palimpsest-${randomUUID()}.tmp`);
	const handle = await openNew(temporary, O_WRONLY);
	try {
		await write(handle).finally(() => handle.close());
		return await place(temporary);
	} catch (error) {
		// `rm` would ask for the kind of the file first.
		await unlink(temporary).catch(() => {});
		throw error;
	}
}
/** Writes a file completely or not at all; replaces an older one. */
export async function putFile(given) {
	const { file, pieces, at } = given;
	const write = async (handle) => {
		for (const piece of pieces) await handle.writeFile(piece);
		await handle.utimes(new Date(at), new Date(at));
		if (given.sync) await handle.sync();
	};
	await putWhole(file, write, (temporary) => rename(temporary, file));
}
export async function putEmptyFile(file, at) {
	const handle = await open(file, O_CREAT | O_WRONLY | O_NOFOLLOW, 0o600);
	await handle.utimes(new Date(at), new Date(at)).finally(() => handle.close());
}
/** Writes the names of a folder, or the content of a file, to the disk. */
export async function sync(place, kind = "folder") {
	try {
		const handle = await open(place, kind === "file" ? O_RDWR : O_RDONLY);
		await handle.sync().finally(() => handle.close());
	} catch (error) {
		// Windows opens no folders, and some file systems sync none.
		const { code = "" } = error;
		if (!["ENOENT", "EISDIR", "EPERM", "EACCES", "EINVAL"].includes(code)) throw error;
	}
}
/** `undefined` if it is absent or no regular file. */
export async function openToRead(file) {
	try {
		// Without O_NONBLOCK, opening a pipe would wait for a writer.
		const handle = await open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
		if ((await handle.stat()).isFile()) return handle;
		await handle.close();
		return undefined;
	} catch (error) {
		const { code = "" } = error;
		if (!["ENOENT", "ELOOP", "EISDIR"].includes(code)) throw error;
		return undefined;
	}
}
/** The bytes of a small file, read synchronously; `undefined` if it is absent or no regular file. */
export function bytesIfThere(file) {
	try {
		const opened = openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
		try {
			return fstatSync(opened).isFile() ? readFileSync(opened) : undefined;
		} finally {
			closeSync(opened);
		}
	} catch (error) {
		const { code = "" } = error;
		if (!["ENOENT", "ELOOP", "EISDIR"].includes(code)) throw error;
		return undefined;
	}
}
const pieceBytes = 1 << 17;
/** Closes the file at the end. */
export async function* piecesOf(handle) {
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
export async function holds(file, hash) {
	const handle = await openToRead(file);
	if (handle === undefined) return false;
	const digest = createHash("sha256");
	for await (const piece of piecesOf(handle)) digest.update(piece);
	return digest.digest("hex") === hash;
}
/** Starts no further items after a failure. */
export async function inParallel(items, atATime, act) {
	// A generator ends for all workers as soon as one of them leaves its loop.
	const queue = (function* () {
		yield* items;
	})();
	const worker = async () => {
		for (const item of queue) await act(item);
	};
	const workers = Array.from({ length: Math.min(atATime, items.length) }, worker);
	const failure = (await Promise.allSettled(workers)).find((one) => one.status === "rejected");
	if (failure !== undefined) throw failure.reason;
}
