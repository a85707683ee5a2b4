import { PalimpsestError } from "../errors.ts";
import { readText } from "./read-input.ts";

/** A JSON document with the indentation it was written in, so that it can be written back alike. */
export interface JsonDocument {
	readonly value: unknown;
	/** White space of one level; empty where the document is written on one line. */
	readonly indent: string;
}

/**
 * Reads a JSON document from a file or, for `-`, from standard input.
 *
 * @throws PalimpsestError `unreadable_file`; `invalid_json` with line and column, without a word of the text.
 */
export async function readJsonDocument(file: string): Promise<JsonDocument> {
	const text = await readText(file);
	const name = file === "-" ? "standard input" : file;
	if (text.trim() === "") throw new PalimpsestError("invalid_json", `Expected JSON; ${name} is empty.`);
	try {
		return { value: JSON.parse(text), indent: /^\s*[[{]\r?\n([ \t]+)/.exec(text)?.[1] ?? "" };
	} catch (error) {
		throw new PalimpsestError("invalid_json", `Expected JSON; ${name} is not valid${placeOf(error, text)}.`);
	}
}

/** Where parsing failed. The parser's own message is not passed on, since it quotes the text. */
function placeOf(error: unknown, text: string): string {
	const position = /at position (\d+)/.exec(String(error))?.[1];
	if (position === undefined) return / end of /i.test(String(error)) ? ": it ends too early" : "";
	const before = text.slice(0, Number(position)).split("\n");
	return ` at line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
}
