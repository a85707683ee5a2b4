import { mkdtemp, realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The folders that tests of this file have asked for. */
export const scratchFolders: string[] = [];

/** An empty folder that is gone after the tests of the file. */
export async function scratchFolder(): Promise<string> {
	const folder = await realpath(await mkdtemp(join(tmpdir(), "palimpsest-test-")));
	scratchFolders.push(folder);
	return folder;
}

/**
 * An environment in which no configuration of the user counts: the home folder is the given one. Nothing is archived but
 * where a test says so.
 */
export function cleanEnvironment(home: string): Record<string, string> {
	const inherited = Object.entries(process.env).filter(
		(entry): entry is [string, string] =>
			entry[1] !== undefined && !/^(PALIMPSEST_|XDG_(?:CONFIG|STATE)_HOME$)/.test(entry[0]),
	);
	return { ...Object.fromEntries(inherited), HOME: home, USERPROFILE: home, PALIMPSEST_ARCHIVE: "none" };
}
