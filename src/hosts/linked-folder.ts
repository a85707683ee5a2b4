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
		try {
			// Another run may have made the same folder meanwhile. Its files stay, and new ones are added.
			if (entry.isDirectory() && (await exists(to)))
				await cp(from, to, { recursive: true, force: false, errorOnExist: true });
			else await moveTo(from, to);
		} catch {
			left.push(entry.name);
		}
	}
	if (left.length === 0) return undefined;
	const rest = await mkdtemp(`${folder}-left-`);
	for (const name of left) await rename(path.join(folder, name), path.join(rest, name));
	return rest;
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
