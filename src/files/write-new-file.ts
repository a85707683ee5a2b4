import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { link, open, rename, rm } from "node:fs/promises";
import path from "node:path";
import { PalimpsestError } from "../errors.ts";

/** A file to write. */
export interface NewFile {
	readonly file: string;
	/** Names in the same folder that are tried in order where the file's own is taken. */
	readonly otherNames?: readonly string[];
	readonly text: string;
	readonly overwrite: boolean;
}

/**
 * Writes a file that is there whole or not at all: into a temporary file beside it, readable by its owner alone, synced
 * and then put in place. Answers with the path that it got.
 *
 * @throws PalimpsestError `file_exists` unless `overwrite`; the error of the file system.
 */
export async function writeNewFile({ file, otherNames = [], text, overwrite }: NewFile): Promise<string> {
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
		if (overwrite) {
			await rename(temporary, file);
			return file;
		}
		if (await linkNew(temporary, file)) return file;
		for (const name of otherNames) {
			const other = path.join(path.dirname(file), name);
			if (await linkNew(temporary, other)) return other;
		}
	} finally {
		await rm(temporary, { force: true });
	}
	throw new PalimpsestError("file_exists", "The output file exists already. Name a new one, or set overwrite to true.");
}

/** Gives a file a name; `false` where the name is taken. A rename would replace the file that has it. */
async function linkNew(temporary: string, file: string): Promise<boolean> {
	try {
		await link(temporary, file);
		return true;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
		return false;
	}
}
