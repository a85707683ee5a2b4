import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { link, open, rename, rm } from "node:fs/promises";
import path from "node:path";
import { PalimpsestError } from "../errors.ts";

/**
 * Writes a file that is there whole or not at all: into a temporary file beside it, readable by its owner alone, synced
 * and then put in place.
 *
 * @throws PalimpsestError `file_exists` unless `overwrite`; the error of the file system.
 */
export async function writeNewFile(what: {
	readonly file: string;
	readonly text: string;
	readonly overwrite: boolean;
}): Promise<void> {
	const { file, text, overwrite } = what;
	const temporary = path.join(path.dirname(file), `.palimpsest-${randomUUID()}.tmp`);
	const { O_CREAT, O_EXCL, O_WRONLY, O_NOFOLLOW } = constants;
	const handle = await open(temporary, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW, 0o600);
	try {
		try {
			await handle.writeFile(text, "utf8");
			await handle.sync();
		} finally {
			await handle.close();
		}
		if (overwrite) await rename(temporary, file);
		else await link(temporary, file).catch(refuseExisting);
	} finally {
		await rm(temporary, { force: true });
	}
}

/** A link fails where the name is taken, which a rename would replace. */
function refuseExisting(error: NodeJS.ErrnoException): never {
	if (error.code !== "EEXIST") throw error;
	throw new PalimpsestError("file_exists", "The output file exists already. Name a new one, or set overwrite to true.");
}
