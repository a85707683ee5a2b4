import { PalimpsestError } from "../errors.ts";
import { locateValues, pathTree, type Span } from "./locate-values.ts";
import { type SyntaxErrorPlace, syntaxErrorAt } from "./syntax-error-at.ts";

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
	} catch {
		const records = readRecords(text, start);
		if (records.kind === "records") return { text, kind: "json_lines", value: records.values, roots: records.roots };
		// A text whose first line is no record was never meant as JSON Lines.
		throw records.isFirst ? invalidJson(text, start, name) : invalidRecord(text, records, name);
	}
}

type Records =
	| { readonly kind: "records"; readonly values: readonly unknown[]; readonly roots: readonly Span[] }
	| (Span & { readonly kind: "failure"; readonly isFirst: boolean });

function readRecords(text: string, start: number): Records {
	const values: unknown[] = [];
	const roots: Span[] = [];
	for (let offset = start; offset < text.length; ) {
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
			} catch {
				const several = readSeveral(record);
				if (!several) return { kind: "failure", start: offset, end, isFirst: values.length === 0 };
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
			// The search passes over commas and comments, which JSON does not have between values.
			if (line.slice(offset, span.start).trim() !== "") return undefined;
			found.push({ value: JSON.parse(line.slice(span.start, span.end)), span });
			offset = span.end;
		}
	} catch {
		return undefined;
	}
	const areRecords = found.every(({ value }) => typeof value === "object" && value !== null);
	return found.length > 1 && areRecords ? found : undefined;
}

function invalidJson(text: string, start: number, name: string): PalimpsestError {
	return invalidAt(text, syntaxErrorAt(text, start), name);
}

function invalidRecord(text: string, { start, end }: Span, name: string): PalimpsestError {
	const { offset, endsTooEarly } = syntaxErrorAt(text.slice(start, end), 0);
	return invalidAt(text, { offset: start + offset, endsTooEarly }, name);
}

function invalidAt(text: string, { offset, endsTooEarly }: SyntaxErrorPlace, name: string): PalimpsestError {
	let [line, lineStart] = [1, 0];
	for (let at = text.indexOf("\n"); at !== -1 && at < offset; at = text.indexOf("\n", lineStart)) {
		line += 1;
		lineStart = at + 1;
	}
	const column = offset - lineStart + 1;
	const early = endsTooEarly ? ": it ends too early" : "";
	return new PalimpsestError(
		"invalid_json",
		`Expected JSON; ${name} is not valid at line ${line}, column ${column}${early}.`,
	);
}
