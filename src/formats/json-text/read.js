import { createScanner } from "jsonc-parser";
import { PalimpsestError } from "../../errors.js";
import { locateValues, pathTree } from "./locate.js";
/** Only `\n` ends a line: records may hold other breaks. Throws `invalid_json` with name, line, column, and no text. */
export function readTextDocument(text, name) {
	const start = startOf(text);
	if (text.slice(start, start + 4096).trim() === "" && text.trim() === "") {
		throw new PalimpsestError("invalid_json", `Expected JSON; ${name} is empty.`);
	}
	return parsedWhole(text) ?? readRecords(text, { start, end: text.length }, name);
}
/** One value alone. Throws `invalid_json` at once, where a search for the place of the error would take seconds. */
export function readJsonText(text, name) {
	const document = parsedWhole(text);
	if (document) return document;
	throw new PalimpsestError("invalid_json", `Expected JSON; ${name} is not valid.`);
}
function parsedWhole(text) {
	const start = startOf(text);
	try {
		const value = JSON.parse(start === 0 ? text : text.slice(start));
		return { text, kind: "json", value, roots: [{ start, end: text.length }] };
	} catch {
		return undefined;
	}
}
/** After a byte order mark. */
function startOf(text) {
	return text.startsWith("\uFEFF") ? 1 : 0;
}
function readRecords(text, whole, name) {
	const value = [];
	const roots = [];
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
/** `undefined` for a line that is not valid. */
function recordsOfLine(line) {
	if (line.trim() === "") return [];
	try {
		const span = { start: line.length - line.trimStart().length, end: line.trimEnd().length };
		return [{ value: JSON.parse(line), span }];
	} catch {
		return severalRecords(line);
	}
}
/** Programs that write to a file at the same time leave several records on a line. */
function severalRecords(line) {
	const found = [];
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
function invalidJson(text, { start, end }, name) {
	const error = syntaxErrorIn(text.slice(start, end));
	const offset = start + error.offset;
	let [line, lineStart] = [1, 0];
	for (let at = text.indexOf("\n"); at !== -1 && at < offset; at = text.indexOf("\n", lineStart)) {
		line += 1;
		lineStart = at + 1;
	}
	const early = error.endsTooEarly ? ": it ends too early" : "";
	const message = `Expected JSON; ${name} is not valid at line ${line}, column ${offset - lineStart + 1}${early}.`;
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
};
const valueStarts = [
	...[tokenKinds.openBrace, tokenKinds.openBracket, tokenKinds.string, tokenKinds.number],
	...[tokenKinds.nullWord, tokenKinds.trueWord, tokenKinds.falseWord],
];
const tokensThatFit = {
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
function syntaxErrorIn(text) {
	const scanner = createScanner(text);
	const open = [];
	let expected = "value";
	for (;;) {
		const token = scanner.scan();
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
function expectedAfter(token, expected, open) {
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
function isCutOff(text, offset) {
	if (text[offset] === '"') return true;
	return /^(?:-|-?\d+\.|-?[\d.]+[eE][+-]?|tr?u?|fa?l?s?|nu?l?)$/.test(text.slice(offset, offset + 40));
}
