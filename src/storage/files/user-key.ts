import { randomBytes } from "node:crypto";
import { link, readFile, unlink } from "node:fs/promises";
import path from "node:path";
import { inFolder, putWhole, undefinedIfAbsent } from "./disk.ts";

const keyBytes = 32;

/**
 * A secret of this user: what is hashed with it cannot be guessed by others who read the hash. It is made at its first use, in
 * a file of this user alone; of several processes that make it at once, one wins. Throws if the folder cannot be used.
 */
export async function userKey(folder: string): Promise<Buffer> {
	const file = path.join(folder, "user.key");
	const found = await readFile(file).catch(undefinedIfAbsent);
	if (found === undefined) await inFolder(folder, () => make(file));
	const key = found ?? (await readFile(file));
	if (key.length !== keyBytes) throw new Error(`Expected ${keyBytes} bytes in user.key; got ${key.length}.`);
	return key;
}

function make(file: string): Promise<void> {
	const write = (handle: { writeFile: (bytes: Buffer) => Promise<void> }) => handle.writeFile(randomBytes(keyBytes));
	return putWhole(file, write, async (temporary) => {
		await link(temporary, file).catch((error: NodeJS.ErrnoException) => {
			if (error.code !== "EEXIST") throw error;
		});
		await unlink(temporary);
	});
}
