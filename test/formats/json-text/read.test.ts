import { describe, expect, it } from "vitest";
import { PalimpsestError } from "../../../src/errors.ts";
import { readTextDocument } from "../../../src/formats/json-text/read.ts";

const read = (text: string) => readTextDocument(text, "the text");

describe("one value", () => {
	it.each<[string, string, unknown]>([
		["plain", '{"a": 1}', { a: 1 }],
		["after a byte order mark", "\uFEFF[1]", [1]],
		["in lines that end with CRLF", '{\r\n"a": [\r\n1]\r\n}\r\n', { a: [1] }],
		["with a key that repeats", '{"a": 1, "a": 2}', { a: 2 }],
		["on one line with a line feed", "[1]\n", [1]],
	])("%s", (_what, text, value) => {
		expect(read(text)).toMatchObject({ kind: "json", text, value });
	});
});

describe("JSON Lines", () => {
	it.each<[string, string, unknown]>([
		["one a line", '{"a":1}\n{"a":2}\n', [{ a: 1 }, { a: 2 }]],
		["without a last line feed", '{"a":1}\n{"a":2}', [{ a: 1 }, { a: 2 }]],
		["with CRLF", '{"a":1}\r\n{"a":2}\r\n', [{ a: 1 }, { a: 2 }]],
		["with blank lines", '\n{"a":1}\n\n \t\n{"a":2}\n\n', [{ a: 1 }, { a: 2 }]],
		["after a byte order mark", '\uFEFF{"a":1}\n{"a":2}', [{ a: 1 }, { a: 2 }]],
		["two on one line", '{"a":1}{"a":2}\n', [{ a: 1 }, { a: 2 }]],
		["two on one line, apart", '{"a":1}\n{"a":2} \t{"a":3}\n', [{ a: 1 }, { a: 2 }, { a: 3 }]],
		["two on one line, with white space at its ends", ' {"a":1}{"a":2} \n', [{ a: 1 }, { a: 2 }]],
		["with line separators of Unicode inside", '{"a":"\u2028"}\n{"a":"\u0085"}', [{ a: "\u2028" }, { a: "\u0085" }]],
	])("%s", (_what, text, value) => {
		const document = read(text);
		expect(document).toMatchObject({ kind: "json_lines", text, value });
		const texts = document.roots.map(({ start, end }) => text.slice(start, end));
		expect(texts.map((one) => JSON.parse(one))).toEqual(value);
		expect(texts.every((one) => one === one.trim())).toBe(true);
	});
});

it.each([
	["a comma between records", '{"a":1},{"a":2}'],
	["a comment between records", '{"a":1}/* */{"a":2}'],
	["numbers on a line", '{"a":1}\n1 2'],
	["a record and a number", '{"a":1}\n{"a":2} 3'],
	["a record and null", '{"a":1}\n{"a":2} null'],
	["a record and half of one", '{"a":1}\n{"a":2} {"a":'],
	["two records and half of one", '{"a":1}\n{"a":2} {"a":3} {"a":'],
	["words", "[1]\nnope"],
])("%s are not records", (_, text) => {
	expect(() => read(text)).toThrow(PalimpsestError);
});

it("the places of records are those in the text", () => {
	const text = '\uFEFF {"a":1} \r\n\n[2]  {"b":3}\n"s"\n null ';
	const { value, roots } = read(text);
	expect(value).toEqual([{ a: 1 }, [2], { b: 3 }, "s", null]);
	expect(roots.map(({ start, end }) => text.slice(start, end))).toEqual(['{"a":1}', "[2]", '{"b":3}', '"s"', "null"]);
	expect(read("\uFEFF[1]").roots).toEqual([{ start: 1, end: 4 }]);
	expect(read(`${" ".repeat(5_000)}[1]`).value).toEqual([1]);
});

describe("refused, without quoting the text", () => {
	// What the parser's own message quotes, and what could be taken for words of that message.
	const secret = "at position 77 the end of TOPSECRET";
	const refusal = (text: string): PalimpsestError => {
		try {
			read(text);
		} catch (error) {
			if (error instanceof PalimpsestError) return error;
		}
		throw new Error("Expected a refusal.");
	};

	it.each([
		["UTF-16", "[\0{\0", true],
		["UTF-16 with its larger byte first", "\0[\0{", true],
		["UTF-16 behind a mark", "\ufffd\ufffd[\0", true],
		["gzip", "\u001f\ufffd\b", true],
		["a torn record", "{\0\0\0\0", false],
		["a word", "wat", false],
	])("says of %s whether it holds UTF-8", (_, text, isOther) => {
		const advice = "It holds no UTF-8: save it as UTF-8, or unpack it first.";
		expect(() => read(text)).toThrow(isOther ? advice : /column \d+(?:: it ends too early)?\.$/);
	});

	it("says that a text of white space is empty", () => {
		for (const text of ["", " \n\t", "\uFEFF\r\n", " ".repeat(5_000)]) {
			expect(refusal(text)).toMatchObject({ code: "invalid_json", message: "Expected JSON; the text is empty." });
		}
	});

	it.each([
		["nothing", ""],
		["only a byte order mark", "\uFEFF \n"],
	])("%s", (_what, text) => {
		expect(refusal(text)).toMatchObject({ code: "invalid_json", message: "Expected JSON; the text is empty." });
	});

	// The mark stands before what makes it no JSON.
	it.each<[string, string]>([
		["a bare word", `{"a": "${secret}", "b": ¦nope}`],
		["a bare word far down", `{\n"a": "${secret}",\n\n"b": [1,\n2, ¦nope]}`],
		["an extra comma", `["${secret}",¦]`],
		["a missing colon", `{"${secret}" ¦1}`],
		["a key that is not a text", `{"${secret}": 1, ¦2: 3}`],
		["brackets that do not match", `["${secret}"¦}`],
		["a comment", `["${secret}" ¦/* why */]`],
		["an invalid escape", `["${secret}", ¦"\\q", 1]`],
		["a control character", `["${secret}", ¦"\u0001", 1]`],
		["an invalid number", `["${secret}", 0¦1]`],
		["a value after the first", `{"a": "${secret}"} ¦1`],
		["a line that is not a record", `{"a": 1}\r\n{"a": "${secret}", ¦nope}\r\n`],
		["records with a comma between", `{"a": "${secret}"}¦,{"a": 2}`],
		["records with a comment between", `{"a": "${secret}"}¦/**/{"a": 2}`],
		["texts on one line", `"${secret}" ¦"b"`],
		["a value of each kind before it", `[true, false, null, -1.5e3, "${secret}", {}, [], [{}], ¦nope]`],
		["a member of each kind before it", `{"a": true, "b": {}, "c": [], "d": [1], "e": null, "${secret}": 1 ¦nope}`],
		["an object closed as a list", `{¦]`],
		["a list closed as an object", `[¦}`],
		["a list that begins with a comma", `["${secret}", [¦, 1]]`],
		["an object that begins with a comma", `["${secret}", {¦, "a": 1}]`],
		["an object that begins with a colon", `["${secret}", {¦: 1}]`],
		["an object in place of a key", `["${secret}", {¦{}: 1}]`],
		["two commas", `["${secret}",¦, 1]`],
		["two colons", `{"${secret}":¦: 1}`],
		["a key alone", `{"${secret}"¦}`],
		["a key without a value", `{"${secret}":¦}`],
		["a comma for a colon", `{"${secret}"¦, 1}`],
		["a colon in a list", `["${secret}"¦: 1]`],
		["two items without a comma", `["${secret}" ¦2]`],
		["two members without a comma", `{"${secret}": 1 ¦"b": 2}`],
		["a comma before the end of an object", `{"${secret}": 1,¦}`],
		["two ends", `{"${secret}": 1}¦}`],
		["a comma between two objects", `{"${secret}": 1}¦, {"a": 2}`],
		["a comment between two objects", `{"${secret}": 1} ¦/* and */ {"a": 2}`],
		["a comma after it all", `["${secret}"]¦,`],
		["a nested object closed as a list", `{"a": [{"${secret}": 1¦]}`],
		["half a word before the end", `["${secret}", ¦tru]`],
		["a word in capitals at the end", `["${secret}", ¦TRUE`],
		["a word that goes on", `["${secret}", ¦truex`],
		["other beginnings of words", `["${secret}", ¦ta`],
		["two signs at the end", `["${secret}", ¦--`],
		["a plus at the end", `["${secret}", ¦+`],
		["a point at the end", `["${secret}", ¦.`],
	])("%s, with its position", (_what, marked) => {
		expect(refusal(marked.replace("¦", ""))).toMatchObject({
			code: "invalid_json",
			message: `Expected JSON; the text is not valid at ${placeOf(marked)}.`,
		});
	});

	it.each<[string, string]>([
		["in a text", `{"a": 1,\n "b": ¦"${secret}`],
		["in an escape", `["${secret}", ¦"\\u00`],
		["after a comma", `{"a": "${secret}",¦`],
		["in a word", `{"a": "${secret}", "b": ¦tru`],
		["in a number", `{"a": "${secret}", "b": ¦-1.`],
		["in the last record", `{"a": 1}\n\n{"a": 2}\n{"a": ¦"${secret}`],
		["in the last record, after a byte order mark", `\uFEFF{"a": 1}\r\n{"a": "${secret}"¦`],
		["in a record before others", `{"a": 1}\n{"a": ¦"${secret}\n{"a": 2}\n`],
		["at the end of a record before others", `{"a": 1}\n{"a": "${secret}",¦\n{"a": 2}\n`],
		["after a blank line", `\n{"a": "${secret}", ¦`],
		["after a colon", `{"${secret}":¦`],
		["after a key", `{"${secret}"¦`],
		["in a list", `["${secret}"¦`],
		["at the start of a list", `["${secret}", [¦`],
		["at the start of an object", `["${secret}", {¦`],
		["in white space", `["${secret}",\n  ¦`],
		...["t", "tr", "tru", "f", "fa", "fal", "fals", "n", "nu", "nul", "-", "-1.", "12.", "1e", "1.5E+", "-2e-"].map(
			(end): [string, string] => [`in ${end}`, `["${secret}", ¦${end}`],
		),
	])("truncated text %s, with its position", (_what, marked) => {
		expect(refusal(marked.replace("¦", ""))).toMatchObject({
			code: "invalid_json",
			message: `Expected JSON; the text is not valid at ${placeOf(marked)}: it ends too early.`,
		});
	});

	function placeOf(marked: string): string {
		const lines = marked.slice(0, marked.indexOf("¦")).split("\n");
		return `line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`;
	}
});
