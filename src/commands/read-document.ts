import { decodeText } from "../documents/decode-text.ts";
import { readTextDocument, type TextDocument } from "../documents/text-document.ts";
import { readInput } from "./read-input.ts";

/**
 * Reads a JSON document, or the records of a recorded session, from a file or, for `-`, from standard input.
 *
 * @throws PalimpsestError `unreadable_file`, `payload_too_large`, `invalid_json`.
 */
export async function readDocument(file: string, maxBytes: number): Promise<TextDocument> {
	const name = file === "-" ? "standard input" : file;
	return readTextDocument(decodeText(await readInput(file, maxBytes), name), name);
}
