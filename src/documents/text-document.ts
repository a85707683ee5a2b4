import { PalimpsestError } from "../errors.ts";
import { locateValues, pathTree, type Span } from "./locate-values.ts";

/** A JSON text with the value it holds. */
export interface TextDocument {
	readonly text: string;
	/** `json`: one value. `json_lines`: the records of a recorded session; `value` is the list of them. */
	readonly kind: "json" | "json_lines";
	readonly value: unknown;
	/** Where each top-level value stands: one, or one a record. */
	readonly roots: readonly Span[];
}

/**
 * Reads a JSON text: one value, or records one a line (JSON Lines). Lines end at `\n` alone, since records may hold any
 * other line break; several records on one line are read as several.
 *
 * @throws PalimpsestError `invalid_json` with line and column, without a word of the text. `name` says whose text it is.
 */
export function readTextDocument(text: string, name: string): TextDocument {
	const start = text.startsWith("\uFEFF") ? 1 : 0;
	if (text.slice(start, start + 4096).trim() === "" && text.trim() === "") {
		throw new PalimpsestError("invalid_json", `Expected JSON; ${name} is empty.`);
	}
	try {
		const value: unknown = JSON.parse(start === 0 ? text : text.slice(start));
		return { text, kind: "json", value, roots: [{ start, end: text.length }] };
	} catch (error) {
		const records = readRecords(text, start);
		if (records.kind === "records") return { text, kind: "json_lines", value: records.values, roots: records.roots };
		// A text whose first line is no record was never meant as JSON Lines.
		const [failure, offset] = records.line === 0 ? [error, start] : [records.error, records.offset];
		throw invalidJson({ failure, text, offset, name, line: records.line });
	}
}

type Records =
	| { readonly kind: "records"; readonly values: readonly unknown[]; readonly roots: readonly Span[] }
	| { readonly kind: "failure"; readonly line: number; readonly offset: number; readonly error: unknown };

function readRecords(text: string, start: number): Records {
	const values: unknown[] = [];
	const roots: Span[] = [];
	let line = 0;
	for (let offset = start; offset < text.length; line += 1) {
		const newline = text.indexOf("\n", offset);
		const end = newline === -1 ? text.length : newline;
		const record = text.slice(offset, end);
		if (record.trim() !== "") {
			try {
				values.push(JSON.parse(record));
				roots.push({
					start: offset + (record.length - record.trimStart().length),
					end: offset + record.trimEnd().length,
				});
			} catch (error) {
				const several = readSeveral(record);
				if (!several) return { kind: "failure", line, offset, error };
				for (const { value, span } of several) {
					values.push(value);
					roots.push({ start: offset + span.start, end: offset + span.end });
				}
			}
		}
		offset = end + 1;
	}
	return { kind: "records", values, roots };
}

/** The records of a line that holds more than one, as programs leave it that write at the same time. */
function readSeveral(line: string): { value: unknown; span: Span }[] | undefined {
	const found: { value: unknown; span: Span }[] = [];
	try {
		for (let offset = 0; line.slice(offset).trim() !== ""; ) {
			const span = locateValues(line, offset, pathTree([]));
			found.push({ value: JSON.parse(line.slice(span.start, span.end)), span });
			offset = span.end;
		}
	} catch {
		return undefined;
	}
	const areRecords = found.every(({ value }) => typeof value === "object" && value !== null);
	return found.length > 1 && areRecords ? found : undefined;
}

/** The parser's own message is not passed on, since it quotes the text. */
function invalidJson(what: {
	failure: unknown;
	text: string;
	offset: number;
	name: string;
	line: number;
}): PalimpsestError {
	const { failure, text, offset, name, line } = what;
	const within = /at position (\d+)/.exec(String(failure))?.[1];
	if (within === undefined) {
		const early = / end of /i.test(String(failure)) ? ": it ends too early" : "";
		return new PalimpsestError("invalid_json", `Expected JSON; ${name} is not valid at line ${line + 1}${early}.`);
	}
	const before = text.slice(0, offset + Number(within)).split("\n");
	const column = (before.at(-1)?.length ?? 0) + 1;
	return new PalimpsestError(
		"invalid_json",
		`Expected JSON; ${name} is not valid at line ${before.length}, column ${column}.`,
	);
}
