import { type FormattingOptions, type ParseError, parse } from "jsonc-parser";
import { PalimpsestError } from "../errors.ts";
import { isJsonObject } from "./tool-event.ts";

/**
 * Reads a settings file of a host: JSON, comments and trailing commas allowed. An empty one is an empty object.
 *
 * @throws PalimpsestError `invalid_json`.
 */
export function readSettings(text: string): Readonly<Record<string, unknown>> {
	if (text.trim() === "") return {};
	const errors: ParseError[] = [];
	const value: unknown = parse(text, errors, { allowTrailingComma: true });
	if (errors.length > 0) throw refusedSettings("it is not valid JSON");
	if (!isJsonObject(value)) throw refusedSettings("it holds no object");
	return value;
}

/** The error for settings that cannot be changed; `reason` goes on after a colon. */
export function refusedSettings(reason: string, cause?: unknown): PalimpsestError {
	const message = `The settings file cannot be changed: ${reason}. It was left as it is.`;
	return new PalimpsestError("invalid_json", message, { cause });
}

/** How to format what is put into a settings file: as it is formatted already. */
export function formattingOf(text: string): FormattingOptions {
	const indent = /\n([ \t]+)\S/.exec(text)?.[1] ?? "  ";
	const eol = text.includes("\r\n") ? "\r\n" : "\n";
	return { insertSpaces: !indent.startsWith("\t"), tabSize: indent.startsWith("\t") ? 1 : indent.length, eol };
}
