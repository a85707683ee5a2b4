import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createFileAccess, type FileAccess } from "../../../src/storage/files/access.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";

/** Stands in every file that may not be read; no error may tell it. */
export const secret = "TOPSECRET-5512";
export const allowedText = "may be read";
export const maxBytes = 1_000;

/** An allowed folder with a file, beside a folder that is not allowed, and access by these rules. */
export interface Folders {
	readonly parent: string;
	readonly root: string;
	readonly outside: string;
	readonly access: FileAccess;
}

/** Makes them; they are gone after the test. */
export async function makeFolders(): Promise<Folders> {
	const parent = await scratchFolder();
	const [root, outside] = [join(parent, "root"), join(parent, "outside")];
	await Promise.all([root, outside].map((folder) => mkdir(folder)));
	await writeFile(join(root, "chat.json"), allowedText);
	await writeFile(join(outside, "chat.json"), secret);
	const access = createFileAccess({ workingDirectory: root, roots: async () => [root] });
	return { parent, root, outside, access };
}

/** Code and message of a refusal; fails where there is none, or where it tells the secret. */
export async function refusal(promise: Promise<unknown>): Promise<{ code: string; message: string }> {
	const error = await promise.then(
		() => {
			throw new Error("Expected a refusal.");
		},
		(reason: Error & { code: string }) => reason,
	);
	if (String(error.message).includes(secret)) throw new Error("The refusal tells the secret.");
	return { code: error.code, message: error.message };
}
