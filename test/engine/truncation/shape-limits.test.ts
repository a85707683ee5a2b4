import { describe, expect, it } from "vitest";
import { detectShape, isWritten } from "../../../src/engine/truncation/shape.ts";

const times = (count: number, line: string | ((index: number) => string)) =>
	Array.from({ length: count }, (_, index) => (typeof line === "string" ? line : line(index)));
const shapeOf = (...lines: readonly (string | readonly string[])[]) => detectShape(lines.flat().join("\n"));
const isWrittenIn = (...lines: readonly (string | readonly string[])[]) => isWritten(lines.flat().join("\n"));

/** A line that is of no shape. */
const plain = "words of it";
const code = "import { abc } from 'somewhere'";

describe("HTML", () => {
	it("begins with a tag, and is not Markdown", () => {
		expect(detectShape(`  ${"<br>".repeat(41)}`)).toBe("html");
		expect([`x${"<br>".repeat(41)}`, `x ${"<br>".repeat(41)}`].map(detectShape)).toEqual(["text", "text"]);
		expect(shapeOf("<br>".repeat(41), "- item", plain)).toBe("text");
		expect(detectShape("<nothing of it>")).toBe("text");
	});
});

describe("a diff", () => {
	const withLines = (file: string, hunk: string) => shapeOf("--- a/x", file, hunk, times(20, "+x"));

	it.each([
		["@@ -1 +1 @@", "diff"],
		["@@ -12,34 +56,7 @@ f()", "diff"],
		["1→@@ -1 +1 @@", "diff"],
		["  12\t@@ -1 +1 @@", "diff"],
		[" 3:@@ -1 +1 @@", "diff"],
		["12|@@ -1 +1 @@", "diff"],
		[" @@ -1 +1 @@", "text"],
		["x@@ -1 +1 @@", "text"],
		["x1:@@ -1 +1 @@", "text"],
		["x:@@ -1 +1 @@", "text"],
		["12x@@ -1 +1 @@", "text"],
		["@@ -1 @@", "text"],
	])("has a hunk: %j", (hunk, shape) => {
		expect(withLines("+++ b/x", hunk)).toBe(shape);
	});

	it.each([
		["+++ b/x", "diff"],
		["diff --git a/x b/x", "diff"],
		["1→+++ b/x", "diff"],
		["  12\t+++ b/x", "diff"],
		[" 3:diff --git a/x b/x", "diff"],
		["12|+++ b/x", "diff"],
		[" +++ b/x", "text"],
		["x+++ b/x", "text"],
		["x1:+++ b/x", "text"],
		["x:+++ b/x", "text"],
		["12x+++ b/x", "text"],
	])("names a file: %j", (file, shape) => {
		expect(withLines(file, "@@ -1 +1 @@")).toBe(shape);
	});

	it.each([
		...["-x", "+x", " x", "@ x", " 12→+x", "3:-x", "  12\t x", "12|+x"],
		...["Author: me", "X-Header: x", `A${"b".repeat(20)}: x`],
		...["index 1", "commit 1", "From me", "new file", "deleted file", "rename x", "similarity", "Binary"],
	])("consists of lines like %j", (line) => {
		expect(shapeOf("--- a/x", "+++ b/x", "@@ -1 +1 @@", times(20, line))).toBe("diff");
	});

	it.each(["x", "x12→+x", "x→+x", "12x+x", "author: me", "Au: x", `A${"b".repeat(21)}: x`, "A+b: x", "indexes"])(
		"does not consist of lines like %j",
		(line) => {
			expect(shapeOf("--- a/x", "+++ b/x", "@@ -1 +1 @@", times(20, line))).not.toBe("diff");
		},
	);

	it("is not the trace of a shell", () => {
		const lines = ["+++ b/x", "@@ -1 +1 @@", ...times(20, "+x")];
		expect([shapeOf("+ git diff", lines), shapeOf("++ git diff", lines), shapeOf("+", lines)]).toEqual([
			...["text", "text", "diff"],
		]);
	});

	it("may be a patch that begins and names a file", () => {
		const shapeWith = (...lines: readonly string[]) => shapeOf(...lines, times(9, plain));
		expect(shapeWith("*** Begin Patch", "*** Update File: x")).toBe("diff");
		expect(shapeWith("*** Begin Patch", "*** End Patch")).toBe("text");
		expect(shapeWith("*** Update File: x")).toBe("text");
		expect(shapeWith("a *** Begin Patch", "*** Update File: x")).toBe("text");
		expect(shapeWith("*** Begin Patch", "a *** Update File: x")).toBe("text");
	});
});

it("long lines of words, of letters or in great number are not minified code", () => {
	const texts = ["words = of it; ".repeat(900), "x".repeat(9_000), times(400, "x=".repeat(800)).join("\n")];
	expect(texts.map(detectShape)).toEqual(["text", "text", "text"]);
	expect(detectShape("x=".repeat(4_000))).toBe("minified");
});

describe("JSON", () => {
	it("is an object, a list or a string, or lines of objects and lists", () => {
		for (const text of ['{"a":1}', " [1]", '"a"']) expect(detectShape(text), text).toBe("json");
		expect(detectShape('{"a":1}\n \n[2]')).toBe("json_lines");
		for (const text of ["12", "true", "null", '{"a":1}\n2', "{"]) expect(detectShape(text), text).toBe("text");
	});
});

describe("a table of fields", () => {
	it("may have quoted fields that end in another line", () => {
		expect(shapeOf(times(9, 'a,b,"c,d'))).toBe("table");
		expect(shapeOf("a,b,c", times(9, 'a,b,"c,d'))).toBe("table");
	});

	it("has the columns of its first line, or three in the beginning of a long line", () => {
		expect(shapeOf("a,b,c,d,e", times(9, "1,2,3"))).toBe("text");
		expect(shapeOf("a,b,c,d,e", times(9, `1,2,${"x".repeat(500)},4,5`))).toBe("table");
		expect(shapeOf("a,b,c,d,e", times(9, `1,${"x".repeat(500)},3,4,5`))).toBe("text");
	});
});

describe("a table of columns", () => {
	const header = "NAME   STATUS   AGE";

	it("has a header in capitals, and five lines or more", () => {
		expect([3, 4].map((rows) => shapeOf(header, times(rows, "pod   Running   5d")))).toEqual(["text", "table"]);
		expect(shapeOf("Name   STATUS   AGE", times(9, "pod   Running   5d"))).toBe("text");
		expect(shapeOf("NAME   STATUS   Age", times(9, "pod   Running   5d"))).toBe("text");
	});

	it("has three columns or more, and rows of one more or less", () => {
		expect(shapeOf("NAME   AGE", times(9, "pod   5d"))).toBe("text");
		const cells = ["a", "a  b", "a  b  c", "a\tb\tc\td", "a  b  c  d  e"];
		expect(cells.map((row) => shapeOf(header, times(9, row)))).toEqual(["text", "table", "table", "table", "text"]);
		expect(shapeOf(header, times(9, "  pod one   Running now   5 days  "))).toBe("table");
	});
});

describe("a run", () => {
	const failures = times(2, "ERROR: full");

	it("reports two results in its last 40 lines", () => {
		expect(shapeOf(times(9, plain), failures)).toBe("log");
		expect(shapeOf(times(9, plain), failures[0] as string)).toBe("text");
		expect(shapeOf(times(2_000, plain), failures, times(30, plain))).toBe("log");
		expect(shapeOf(failures, times(2_000, plain))).toBe("text");
	});

	it("does not begin with code, and is not Markdown", () => {
		const withCode = (count: number) => shapeOf(times(count, code), times(60 - count, plain), failures);
		expect([16, 17].map(withCode)).toEqual(["log", "text"]);
		expect(shapeOf(times(9, "# Heading"), times(30, plain), failures)).toBe("text");
	});
});

describe("code and prose", () => {
	const sentence = (chars: number) => `${"many words of ".repeat(9).slice(0, chars - 1)}.`;

	it("have sentences of over 60 characters that end a line", () => {
		expect([60, 61].map((chars) => isWrittenIn(times(9, sentence(chars))))).toEqual([false, true]);
		expect(isWrittenIn(times(9, `${sentence(80)} and then some`))).toBe(false);
	});

	it("are known in the middle of a long text", () => {
		expect(isWrittenIn(times(80, plain), times(3_000, code), times(1_600, plain))).toBe(true);
	});

	it("are not beginnings of long lines", () => {
		expect(isWrittenIn(times(9, `${"x".repeat(399)}{${"x".repeat(99)}`))).toBe(false);
		expect(isWrittenIn(times(9, `${"x".repeat(398)}{`))).toBe(true);
		expect(isWrittenIn(times(80, plain), times(32, `${"many words of ".repeat(35)}.`))).toBe(false);
	});
});

describe("JSON", () => {
	it("may be between blanks", () => {
		expect([' {"a":1}\n', '\n["a"]', '  "a"  '].map(detectShape)).toEqual(["json", "json", "json"]);
	});

	it("in lines is nothing but objects and lists", () => {
		expect(shapeOf('{"a":1}', "", ' {"b":2}', "[3]", "")).toBe("json_lines");
		for (const other of ["x", "5", '"[x]"', "{x}"]) expect(shapeOf('{"a":1}', other), other).not.toBe("json_lines");
	});
});

describe("Base64", () => {
	const encoded = (length: number, letters: string) =>
		letters.repeat(Math.ceil(length / letters.length)).slice(0, length);
	const mixed = "ABCDEFGHIJKLMabcdefghijklm0123456789";

	it("has 1 000 characters or more, of capitals, other letters and digits", () => {
		expect([999, 1_000].map((length) => detectShape(encoded(length, mixed)))).toEqual(["text", "base64"]);
		const kinds = [mixed.slice(0, 26), mixed.slice(13), `${mixed.slice(0, 13)}NOPQRSTUV${mixed.slice(26)}`];
		expect(kinds.map((letters) => detectShape(encoded(1_000, letters)))).toEqual(["text", "text", "text"]);
	});

	it("has over 90 % of lines of nothing else", () => {
		const line = encoded(100, mixed);
		expect([9, 10].map((count) => shapeOf(times(count, line), "words of a line, not more"))).toEqual([
			"text",
			"base64",
		]);
		expect(shapeOf(times(10, `${line}==  `))).toBe("base64");
		expect(shapeOf(times(10, `${line} words`))).toBe("text");
		expect(shapeOf(times(10, `words ${line}`))).toBe("text");
		expect(detectShape(`data:image/png;base64,${encoded(1_000, mixed)}`)).toBe("base64");
	});
});
