import { setFlagsFromString } from "node:v8";
import { decodeText } from "../files/read-file.ts";
import { readTextDocument, type TextDocument } from "../json-text/read.ts";
import { readInput } from "./read-input.ts";

/**
 * Reads a JSON document, or the records of a recorded session, from a file or, for `-`, from standard input.
 *
 * @throws PalimpsestError `unreadable_file`, `payload_too_large`, `invalid_json`.
 */
export async function readDocument(file: string, maxBytes: number): Promise<TextDocument> {
	const name = file === "-" ? "standard input" : file;
	const bytes = await readInput(file, maxBytes);
	if (bytes.length > largeInput) collectOften();
	return readTextDocument(decodeText(bytes, name), name);
}

const largeInput = 16_000_000;

/**
 * Has memory collected before it has doubled, as it would by default: a command that ends with its answer would else hold
 * what it threw away for most of its life, many times the size of its input.
 */
function collectOften(): void {
	setFlagsFromString("--heap-growing-percent=10");
	setFlagsFromString("--max-semi-space-size=4");
}
