import type { Dirent } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import path from "node:path";
import { PalimpsestError } from "../../errors.ts";
import { isResultName } from "../../files/file-access.ts";

/** A file to replay. */
export interface FoundFile {
	readonly file: string;
	/** Whether it was named itself, and not found in a folder that was. */
	readonly isNamed: boolean;
}

/**
 * The files behind the arguments, in order: those that are named, and of a folder every `.json` and `.jsonl` file in it
 * and below, by name, but for the results that our tools write beside a session. Links to folders are followed, but into no folder twice. Whether files can be read shows when they are.
 *
 * @throws PalimpsestError `unreadable_file` for a folder that cannot be listed.
 */
export async function findConversations(names: readonly string[]): Promise<readonly FoundFile[]> {
	const lists = await Promise.all(
		names.map(async (name): Promise<readonly FoundFile[]> => {
			if (!(await isFolder(name))) return [{ file: name, isNamed: true }];
			const isSession = (file: string) => /\.jsonl?$/i.test(file) && !isResultName(file);
			const files = (await filesBelow(name)).filter(isSession).sort();
			return files.map((file) => ({ file, isNamed: false }));
		}),
	);
	return lists.flat();
}

async function isFolder(name: string): Promise<boolean> {
	if (name === "-") return false;
	return stat(name).then(
		(about) => about.isDirectory(),
		() => false,
	);
}

/** All files, those behind links last: what has a place of its own is found there. */
async function filesBelow(top: string): Promise<string[]> {
	const files: string[] = [];
	const seen = new Set<string>();
	const [folders, links] = [[top], [] as string[]];
	for (;;) {
		const folder = folders.pop() ?? links.shift();
		if (folder === undefined) return files;
		const place = await realpath(folder).catch(() => folder);
		if (seen.has(place)) continue;
		seen.add(place);
		for (const entry of await list(folder)) {
			const name = path.join(folder, entry.name);
			if (entry.isDirectory()) folders.push(name);
			else if (entry.isSymbolicLink() && (await isFolder(name))) links.push(name);
			else files.push(name);
		}
	}
}

async function list(folder: string): Promise<Dirent[]> {
	try {
		return await readdir(folder, { withFileTypes: true });
	} catch (error) {
		const { code, message } = error as NodeJS.ErrnoException;
		throw new PalimpsestError("unreadable_file", `Cannot list the folder ${folder}: ${code ?? message}.`, {
			cause: error,
		});
	}
}
