import { readdir, stat } from "node:fs/promises";
import path from "node:path";
import { PalimpsestError } from "../../errors.ts";

/** A file to replay. */
export interface FoundFile {
	readonly file: string;
	/** Whether it was named itself, and not found in a folder that was. */
	readonly isNamed: boolean;
}

/**
 * The files behind the arguments, in order: those that are named, and of a folder every `.json` and `.jsonl` file in it
 * and below, by name. Whether they can be read shows when they are.
 *
 * @throws PalimpsestError `unreadable_file` for a folder that cannot be listed.
 */
export async function findConversations(names: readonly string[]): Promise<readonly FoundFile[]> {
	const lists = await Promise.all(
		names.map(async (name): Promise<readonly FoundFile[]> => {
			if (!(await isFolder(name))) return [{ file: name, isNamed: true }];
			const files = (await list(name)).filter((file) => /\.jsonl?$/i.test(file)).sort();
			return files.map((file) => ({ file: path.join(name, file), isNamed: false }));
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

async function list(folder: string): Promise<string[]> {
	try {
		return await readdir(folder, { recursive: true });
	} catch (error) {
		const { code, message } = error as NodeJS.ErrnoException;
		throw new PalimpsestError("unreadable_file", `Cannot list the folder ${folder}: ${code ?? message}.`, {
			cause: error,
		});
	}
}
