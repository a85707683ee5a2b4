import { rmSync } from "node:fs";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { PalimpsestError } from "../errors.ts";

/** Puts a text too large for an answer into a file; answers with its path. */
export type Spill = (name: string, text: string) => Promise<string>;

/**
 * Spills into a folder of its own that only this user may enter and that goes when the process ends. Fails with
 * `payload_too_large` where there is no place.
 */
export function createSpill(): Spill {
	let folder: Promise<string> | undefined;
	let count = 0;
	const makeFolder = async (): Promise<string> => {
		const made = await mkdtemp(path.join(tmpdir(), "palimpsest-"));
		process.once("exit", () => rmSync(made, { recursive: true, force: true }));
		return made;
	};
	return async (name, text) => {
		folder ??= makeFolder();
		count += 1;
		const fileName = `${count}-${name}.json`;
		try {
			const file = path.join(await folder, fileName);
			await writeFile(file, text, { mode: 0o600, flag: "wx" });
			return file;
		} catch (cause) {
			const reason = (cause as NodeJS.ErrnoException).code;
			const message = `The answer is too large to send, and there is no place to put it (${reason}).`;
			throw new PalimpsestError("payload_too_large", message, { cause });
		}
	};
}
