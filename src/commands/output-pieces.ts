import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { readInput } from "./read-input.ts";

/** Bytes of a file that is read at once. */
const readAtOnce = 8 * 1024 * 1024;

/**
 * The bytes of a file, or of standard input where the name is `-`, piece by piece, whatever their number.
 *
 * @throws PalimpsestError `unreadable_file`.
 */
export async function* outputPieces(file: string): AsyncGenerator<Buffer> {
	if (file === "-") {
		for await (const piece of process.stdin) yield piece;
		return;
	}
	const about = await stat(file).catch(() => undefined);
	// What cannot be read says so there.
	if (about?.isFile() && about.size > readAtOnce) for await (const piece of createReadStream(file)) yield piece;
	else yield await readInput(file, readAtOnce);
}
