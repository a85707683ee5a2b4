import { copyFile, cp, lstat, mkdir, mkdtemp, readdir, rename, rm, symlink } from "node:fs/promises";
import path from "node:path";

/** Fills `folder` with links to the entries of `real`, so that a program finds its own files there beside those of this run. */
export async function linkEntries(real: string, folder: string): Promise<void> {
	await mkdir(real, { recursive: true });
	for (const entry of await readdir(real, { withFileTypes: true })) {
		const [from, to] = [path.join(real, entry.name), path.join(folder, entry.name)];
		if (await exists(to)) continue;
		try {
			await symlink(from, to, "junction");
		} catch {
			// Windows lets only some users link files.
			await copyFile(from, to);
		}
	}
}

/**
 * Moves new entries of `folder`, and those that the program has written in place of a link, to `real`. `own` are our files.
 * Entries that cannot be moved go to a folder beside `folder`, which is returned; `undefined` if there are none.
 */
export async function keepNewEntries(
	real: string,
	folder: string,
	own: readonly string[],
): Promise<string | undefined> {
	const left: string[] = [];
	for (const entry of await readdir(folder, { withFileTypes: true })) {
		if (!(entry.isFile() || entry.isDirectory()) || own.includes(entry.name)) continue;
		const [from, to] = [path.join(folder, entry.name), path.join(real, entry.name)];
		if (!(await moveInto(from, to))) left.push(entry.name);
	}
	if (left.length === 0) return undefined;
	const rest = await mkdtemp(`${folder}-left-`);
	for (const name of left) await rename(path.join(folder, name), path.join(rest, name));
	return rest;
}

/** Another run may have made the same folder: its files stay, and new ones are added. Returns whether all were moved. */
async function moveInto(from: string, to: string): Promise<boolean> {
	try {
		if (!(await exists(to)) || !(await lstat(from)).isDirectory()) {
			await moveTo(from, to);
			return true;
		}
		let isMoved = true;
		for (const name of await readdir(from)) {
			const isNew = !(await exists(path.join(to, name))) || (await lstat(path.join(from, name))).isDirectory();
			isMoved = isNew && (await moveInto(path.join(from, name), path.join(to, name))) && isMoved;
		}
		return isMoved;
	} catch {
		return false;
	}
}

/** The folder of temporary files may be on another disk. */
async function moveTo(from: string, to: string): Promise<void> {
	const beside = `${to}.palimpsest-${process.pid}`;
	try {
		await cp(from, beside, { recursive: true });
		await rename(beside, to);
	} catch (error) {
		await rm(beside, { recursive: true, force: true });
		throw error;
	}
	await rm(from, { recursive: true });
}

async function exists(file: string): Promise<boolean> {
	return lstat(file).then(
		() => true,
		() => false,
	);
}
