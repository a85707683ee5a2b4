import { copyFile, cp, lstat, mkdir, readdir, rename, rm, symlink } from "node:fs/promises";
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

/** Moves what the program has made in `folder`, or written in place of a link, to `real`. `own` are our files. */
export async function keepNewEntries(real: string, folder: string, own: readonly string[]): Promise<void> {
	for (const entry of await readdir(folder, { withFileTypes: true })) {
		if (!(entry.isFile() || entry.isDirectory()) || own.includes(entry.name)) continue;
		const [from, to] = [path.join(folder, entry.name), path.join(real, entry.name)];
		// An entry that another run has made meanwhile stays.
		if (entry.isDirectory() && (await exists(to))) continue;
		await moveTo(from, to);
	}
}

/** The folder of temporary files may be on another disk. */
async function moveTo(from: string, to: string): Promise<void> {
	const beside = `${to}.palimpsest-${process.pid}`;
	await cp(from, beside, { recursive: true });
	await rename(beside, to);
	await rm(from, { recursive: true });
}

async function exists(file: string): Promise<boolean> {
	return lstat(file).then(
		() => true,
		() => false,
	);
}
