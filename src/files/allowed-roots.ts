import { realpath } from "node:fs/promises";
import path from "node:path";

/** Whether a real path stands in a folder, or is it. Both are absolute and free of links. */
export function isInside(folder: string, file: string): boolean {
	const relative = path.relative(folder, file);
	return relative === "" || (relative !== ".." && !relative.startsWith(`..${path.sep}`) && !path.isAbsolute(relative));
}

/** The real paths of folders; those that do not exist allow nothing. */
export async function realFolders(folders: readonly string[]): Promise<string[]> {
	const found = await Promise.all(folders.map((folder) => realpath(folder).catch(() => undefined)));
	return found.filter((folder) => folder !== undefined);
}
