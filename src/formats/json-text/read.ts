import { createScanner } from "jsonc-parser";
import { PalimpsestError } from "../../errors.ts";
import { locateValues, pathTree, type Span } from "./locate.ts";

export interface TextDocument {
	readonly text: string;
	/** `json_lines`: `value` is the list of the records. */
	readonly kind: "json" | "json_lines";
	readonly value: unknown;
	/** One, or one for each record. */
	readonly roots: readonly Span[];
}

/** Only `\n` ends a line: records may hold other breaks. Throws `invalid_json` with name, line, column, and no text. */
export function readTextDocument(text: string, name: string): TextDocument {
	const start = startOf(text);
	if (text.slice(start, start + 4096).trim() === "" && text.trim() === "") {
		throw new PalimpsestError("invalid_json", `Expected JSON; ${name} is empty.`);
	}
	return parsedWhole(text) ?? readRecords(text, { start, end: text.length }, name);
}

/** One value alone. Throws `invalid_json` at once, where a search for the place of the error would take seconds. */
export function readJsonText(text: string, name: string): TextDocument {
	const document = parsedWhole(text);
	if (document) return document;
	throw new PalimpsestError("invalid_json", `Expected JSON; ${name} is not valid.`);
}

function parsedWhole(text: string): TextDocument | undefined {
	const start = startOf(text);
	try {
		const value: unknown = JSON.parse(start === 0 ? text : text.slice(start));
		return { text, kind: "json", value, roots: [{ start, end: text.length }] };
	} catch {
		return undefined;
	}
}

/** After a byte order mark. */
function startOf(text: string): number {
	return text.startsWith("\uFEFF") ? 1 : 0;
}

function readRecords(text: string, whole: Span, name: string): TextDocument {
	const value: unknown[] = [];
	const roots: Span[] = [];
	for (let offset = whole.start; offset < text.length; ) {
		const newline = text.indexOf("\n", offset);
		const end = newline === -1 ? text.length : newline;
		const records = recordsOfLine(text.slice(offset, end));
		// A text whose first line is not a record is not JSON Lines.
		if (!records) throw invalidJson(text, value.length === 0 ? whole : { start: offset, end }, name);
		value.push(...records.map((record) => record.value));
		roots.push(...records.map(({ span }) => ({ start: offset + span.start, end: offset + span.end })));
		offset = end + 1;
	}
	return { text, kind: "json_lines", value, roots };
}

interface TextRecord {
	readonly value: unknown;
	/** Within its line. */
	readonly span: Span;
}

/** `undefined` for a line that is not valid. */
function recordsOfLine(line: string): readonly TextRecord[] | undefined {
	if (line.trim() === "") return [];
	try {
		const span = { start: line.length - line.trimStart().length, end: line.trimEnd().length };
		return [{ value: JSON.parse(line), span }];
	} catch {
		return severalRecords(line);
	}
}

/** Programs that write to a file at the same time leave several records on a line. */
function severalRecords(line: string): readonly TextRecord[] | undefined {
	const found: TextRecord[] = [];
	try {
		for (let offset = 0; line.slice(offset).trim() !== ""; ) {
			const span = locateValues(line, offset, pathTree([]));
			// The search skips commas and comments.
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

/** UTF-16, as PowerShell writes it, or packed bytes: each second character is a NUL, or the first ones cannot be read. */
function isOtherEncoding(text: string): boolean {
	const zeros = [0, 1, 2, 3].map((at) => text.charCodeAt(at) === 0);
	const isWide = zeros[0] === zeros[2] && zeros[1] === zeros[3] && zeros[0] !== zeros[1];
	return isWide || text.slice(0, 2).includes("\ufffd");
}

function invalidJson(text: string, { start, end }: Span, name: string): PalimpsestError {
	const error = syntaxErrorIn(text.slice(start, end));
	const offset = start + error.offset;
	let [line, lineStart] = [1, 0];
	for (let at = text.indexOf("\n"); at !== -1 && at < offset; at = text.indexOf("\n", lineStart)) {
		line += 1;
		lineStart = at + 1;
	}
	const early = error.endsTooEarly ? ": it ends too early" : "";
	const advice = isOtherEncoding(text) ? " It holds no UTF-8: save it as UTF-8, or unpack it first." : "";
	const message = `Expected JSON; ${name} is not valid at line ${line}, column ${offset - lineStart + 1}${early}.${advice}`;
	return new PalimpsestError("invalid_json", message);
}

/** The scanner's token kinds. jsonc-parser declares them as a `const enum`, which `isolatedModules` cannot import. */
export const tokenKinds = {
	openBrace: 1,
	closeBrace: 2,
	openBracket: 3,
	closeBracket: 4,
	comma: 5,
	colon: 6,
	nullWord: 7,
	trueWord: 8,
	falseWord: 9,
	string: 10,
	number: 11,
	lineBreak: 14,
	blank: 15,
	unknown: 16,
	end: 17,
} as const;

type Expected = "value" | "value or ]" | "key" | "key or }" | "colon" | "comma or ]" | "comma or }" | "end";

const valueStarts: readonly number[] = [
	...[tokenKinds.openBrace, tokenKinds.openBracket, tokenKinds.string, tokenKinds.number],
	...[tokenKinds.nullWord, tokenKinds.trueWord, tokenKinds.falseWord],
];
const tokensThatFit: Readonly<Record<Expected, readonly number[]>> = {
	value: valueStarts,
	"value or ]": [...valueStarts, tokenKinds.closeBracket],
	key: [tokenKinds.string],
	"key or }": [tokenKinds.string, tokenKinds.closeBrace],
	colon: [tokenKinds.colon],
	"comma or ]": [tokenKinds.comma, tokenKinds.closeBracket],
	"comma or }": [tokenKinds.comma, tokenKinds.closeBrace],
	end: [],
};

/** `JSON.parse` often gives no place, and quotes the text; deep texts exhaust the stack of jsonc-parser's parser. */
function syntaxErrorIn(text: string): { readonly offset: number; readonly endsTooEarly: boolean } {
	const scanner = createScanner(text);
	const open: ("}" | "]")[] = [];
	let expected: Expected = "value";
	for (;;) {
		const token: number = scanner.scan();
		if (token === tokenKinds.blank || token === tokenKinds.lineBreak) continue;
		const offset = scanner.getTokenOffset();
		if (token === tokenKinds.end) return { offset, endsTooEarly: true };
		const isFaulty = scanner.getTokenError() !== 0 || token === tokenKinds.unknown;
		if (isFaulty) return { offset, endsTooEarly: scanner.getPosition() === text.length && isCutOff(text, offset) };
		if (!tokensThatFit[expected].includes(token)) return { offset, endsTooEarly: false };
		expected = expectedAfter(token, expected, open);
	}
}

/** The expectation after a valid token. `open` are the expected closing brackets. */
function expectedAfter(token: number, expected: Expected, open: ("}" | "]")[]): Expected {
	switch (token) {
		case tokenKinds.openBrace:
			open.push("}");
			return "key or }";
		case tokenKinds.openBracket:
			open.push("]");
			return "value or ]";
		case tokenKinds.comma:
			return open.at(-1) === "}" ? "key" : "value";
		case tokenKinds.colon:
			return "value";
	}
	if (expected === "key" || (expected === "key or }" && token === tokenKinds.string)) return "colon";
	if (token === tokenKinds.closeBrace || token === tokenKinds.closeBracket) open.pop();
	const close = open.at(-1);
	return close === undefined ? "end" : `comma or ${close}`;
}

/** Whether a faulty token at the end of a text may be the beginning of a valid one. */
function isCutOff(text: string, offset: number): boolean {
	if (text[offset] === '"') return true;
	return /^(?:-|-?\d+\.|-?[\d.]+[eE][+-]?|tr?u?|fa?l?s?|nu?l?)$/.test(text.slice(offset, offset + 40));
}
