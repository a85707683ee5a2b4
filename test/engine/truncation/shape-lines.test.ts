import { describe, expect, it } from "vitest";
import { detectShape, isWritten, splitJson } from "../../../src/engine/truncation/shape.ts";

const neutral = Array.from(
	{ length: 24 },
	(_, index) => `${"abcdefghijkl".slice(index % 5, 5 + (index % 7))} plain words of a text that goes on`,
);

const shapeOf = (text: string) => `${detectShape(text)} ${isWritten(text) ? "written" : "output"}`;

const times = (line: string, count: number) => Array.from({ length: count }, () => line);

const mixed = (line: string, count: number) => [...times(line, count), ...neutral.slice(0, 20 - count)].join("\n");

describe("the shape of a text of one kind of line, and of a text that ends with three of them", () => {
	it.each([
		["zz  [77:77:77", "text output, text output"],
		["xz z7777-77-77T77:77", "log output, text output"],
		[" xz z7777-77-77T77:77", "log output, text output"],
		[" z7777-77-77T77:77", "log output, text output"],
		[" xzz z7777-77-77T77:77", "log output, text output"],
		[" xzzz zzzzzz7777-77-77T77:77", "text output, text output"],
		[" xz 7777-77-77T77:77", "log output, text output"],
		[" 77:77:77", "log output, text output"],
		[" Aaa  7 77:77:77", "log output, text output"],
		[" Aaa 77 77:77:77", "log output, text output"],
		[" INFO", "log output, text output"],
		[" [WARN", "log output, text output"],
		[" 77 silly ", "log output, text output"],
		[" ✓ ", "log output, text output"],
		[" ok 7", "log output, text output"],
		[" RUN ", "log output, text output"],
		["  --- zz", "text output, text output"],
		["  ---", "log output, text output"],
		["  duration_ms: ", "log output, text output"],
		["  type: 'ww'", "log output, text output"],
		[" xx ... ok", "log output, text output"],
		[" test xx ... ", "log output, text output"],
		[" xx::x PASSED", "log output, text output"],
		[" x::xx PASSED", "log output, text output"],
		[" PASSED x", "log output, text output"],
		[" Get:77 ", "log output, text output"],
		[" Hit:77 ", "log output, text output"],
		[" [7%", "log output, text output"],
		[" [ 7%", "log output, text output"],
		[" [ 77%", "log output, text output"],
		[" [ 7/7", "log output, text output"],
		[" cc", "log output, text output"],
		[" xx:7:7: warning", "log output, text output"],
		[" x:77:7: warning", "log output, text output"],
		[" x:7:77: warning", "log output, text output"],
		[" E  ", "text output, text output"],
		[" #77 ", "log output, text output"],
		[";  zz", "text output, text output"],
		[";", "text written, text output"],
		["; ", "text written, text output"],
		["import", "text written, text output"],
		["zz  //", "text output, text output"],
		["//", "text written, text output"],
		[" //", "text written, text output"],
		[" * ", "text written, text output"],
		[" @w", "text written, text output"],
		["zz  7→", "text output, text output"],
		["7→", "text written, text output"],
		[" 7→", "text written, text output"],
		[" 77→", "text written, text output"],
		["zz  <!doctype html", "text output, text output"],
		["<!doctype html", "html output, text output"],
		[" <!doctype html", "html output, text output"],
		[" <html ", "html output, text output"],
		["zzFATAL", "text output, text output"],
		["zz z panic: ", "log output, log output"],
		["z make: ***", "log output, log output"],
		["z make[77]: ***", "log output, log output"],
		["z xx(7,7): error TS7", "log output, log output"],
		["z x(77,7): error TS7", "log output, log output"],
		["z x(7,77): error TS7", "log output, log output"],
		["z error[E7777]: ", "log output, log output"],
		["z goroutine 77 [running]", "log output, log output"],
		['a azzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz." ', "text written, text output"],
		["a azzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz. ", "text written, text output"],
		['a azzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz."', "text written, text output"],
		["zz # x", "text output, text output"],
		["## x", "text written, text written"],
		["zz ```", "text output, text output"],
		["zz - x", "text output, text output"],
		["- x", "text written, text written"],
		["\u0000", "binary output, text output"],
		["INFO x", "log output, text output"],
		["DEBUG: x", "log output, text output"],
		["[WARN] x", "log output, text output"],
		["WARNING x", "log output, text output"],
		["NOTICE x", "log output, text output"],
		["Jan  1 10:00:00 x", "log output, text output"],
		["10:00:00 x", "log output, text output"],
		["[10:00:00] x", "log output, text output"],
		["2026/01/02 10:00:00 x", "log output, text output"],
		["12 verbose x", "log output, text output"],
		["npm warn x", "log output, text output"],
		["✓ x", "log output, text output"],
		["ok 1 x", "log output, text output"],
		["not ok 1", "log output, log output"],
		["PASS x", "log output, text output"],
		["# Subtest: x", "log written, text written"],
		["=== RUN x", "log output, text output"],
		["--- PASS: x", "log output, text output"],
		["a ... ok", "log output, text output"],
		["test a ... ok", "log output, text output"],
		["a::b PASSED", "log output, text output"],
		["FAILED a::b", "log output, log output"],
		["Compiling x", "log output, text output"],
		["Get:1 x", "log output, text output"],
		["[ 12%] x", "log output, text output"],
		["[3/4] x", "log output, text output"],
		["gcc -c x.c", "log output, text output"],
		["make x", "log output, text output"],
		["a.c:1:2: warning: x", "log output, text output"],
		["##[group]x", "log output, text output"],
		["::error x", "log output, log output"],
		["E   x", "log output, log output"],
		[">> x", "log output, text output"],
		["#12 x", "log output, text output"],
		["x;", "text written, text output"],
		["x {", "text written, text output"],
		["import x", "text written, text output"],
		["  return x", "text written, text output"],
		["// x", "text written, text output"],
		["* x", "text written, text written"],
		["#include <x>", "text written, text output"],
		["@x", "text written, text output"],
		["1: x", "text written, text output"],
		["12\tx", "text written, text output"],
		["3→x", "text written, text output"],
		["7| x", "text written, text output"],
		["a,b,c", "table output, text output"],
		["a;b;c", "table output, text output"],
		["a\tb\tc", "table output, text output"],
		["a|b|c", "table output, text output"],
		['a,"b,c",d', "table output, text output"],
		["# Heading", "text written, text written"],
		["- item", "text written, text written"],
		["```", "text written, text written"],
		["<div>x</div><p>y</p><p>z</p><p>z</p>", "html output, text output"],
		['{"a":1}', "json_lines written, text output"],
		["[1,2]", "json_lines output, text output"],
		["{a}", "text written, text output"],
		["Tests: 3 passed", "log output, log output"],
		["Process exited with code 1", "log output, log output"],
		["panic: x", "log output, log output"],
		["fatal: x", "log output, log output"],
		["Traceback (most recent call last)", "log output, log output"],
		["goroutine 1 [running]", "log output, log output"],
		["Uncaught TypeError: x\n    at y", "log output, log output"],
		[
			"This is a long sentence of a text, with many words in it and a full stop at its end.",
			"text written, text output",
		],
		["xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "text output, text output"],
		["+ x", "text output, text output"],
		["@@ -1,2 +1,3 @@", "table output, text output"],
		["*** Begin Patch\n*** Update File: a", "diff output, diff output"],
		["diff --git a/x b/x\n@@ -1 +1 @@\n+x\n y\n-z", "diff output, text output"],
		["NAME   AGE   NODE", "table output, text output"],
		["\u0001\u0002x", "binary output, text output"],
	])("%j", (line, expected) => {
		const shapes = [times(line, 12), [...neutral, ...times(line, 3)]].map((lines) => shapeOf(lines.join("\n")));
		expect(shapes.join(", ")).toBe(expected);
	});
});

describe("the share of lines that decides", () => {
	it.each([
		["INFO x", 6, "text output"],
		["INFO x", 7, "log output"],
		["12:30:01 x", 6, "text output"],
		["12:30:01 x", 7, "log output"],
		["const x = 1;", 8, "text written"],
		["const x = 1;", 9, "text written"],
		["1: x", 10, "text written"],
		["1: x", 11, "text written"],
		["- item", 1, "text output"],
		["- item", 2, "text written"],
		["A long sentence of this text, with many words in it, that ends with a full stop.", 5, "text output"],
		["A long sentence of this text, with many words in it, that ends with a full stop.", 6, "text written"],
		["a,b,c", 17, "text output"],
		["a,b,c", 18, "table output"],
		["\u0001", 1, "text output"],
		["\u0001", 20, "binary output"],
	])("%j in %i of 20 lines", (line, count, expected) => {
		expect(shapeOf(mixed(line, count))).toBe(expected);
	});
});

describe("JSON in a text", () => {
	const split = (text: string) => {
		const found = splitJson(text);
		return found && [found.before, found.json, found.behind];
	};

	it.each<[string, readonly string[] | undefined]>([
		['{"a":1}', ["", '{"a":1}', ""]],
		['x\n{"a":1}', ["x\n", '{"a":1}', ""]],
		["x\n[1,2,3,4]\ny", ["x\n", "[1,2,3,4]", "\ny"]],
		["x\n[1,2,3,4]\ny]", ["x\n", "[1,2,3,4]", "\ny]"]],
		["x\n[1,2,3,4]\ny]]", undefined],
		['[x] y\n[{"a":"bcdefghij"}]', ["[x] y\n", '[{"a":"bcdefghij"}]', ""]],
		['x {"a":1}', undefined],
		["[ ]", undefined],
		["[a]", undefined],
		["[\n1]", ["", "[\n1]", ""]],
		['{"a":1', undefined],
		['xxxxxxxx\n{"a":1}', undefined],
		['xxxx\n{"a":1}', undefined],
		['xxx\n{"a":12}', ["xxx\n", '{"a":12}', ""]],
		["", undefined],
		["x", undefined],
		['\n{"a":1}', ["\n", '{"a":1}', ""]],
		["x\n[1,2,3,4,5,6,7]\ny]]", undefined],
		["x\n[1,2,3,4]\nyyy", undefined],
		["x\n[1,2,3,4]\nyy", ["x\n", "[1,2,3,4]", "\nyy"]],
		["x[1,2,3]", undefined],
		[`x[${"\n".repeat(45)}1]`, undefined],
		[`[${" ".repeat(60)}true]`, ["", `[${" ".repeat(60)}true]`, ""]],
		['[ "a"]', ["", '[ "a"]', ""]],
		["[ t]", undefined],
		["{} {}", undefined],
		['{"a":{"b":1}} x', ["", '{"a":{"b":1}}', " x"]],
		[
			'\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n{"a":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}',
			[
				"\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n",
				'{"a":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}',
				"",
			],
		],
		[
			'\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n{"a":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}',
			undefined,
		],
	])("%j", (text, expected) => {
		expect(split(text)).toEqual(expected);
	});
});

it("tells a program's uncaught error by the frames after its message", () => {
	const error = "TypeError: orders is not a list of orders";
	const frame = "    at load (src/orders.js:3:7)";
	expect(shapeOf([error, frame, ...neutral].join("\n"))).toBe("log output");
	expect(shapeOf([error, "code: 7", "  }", frame, ...neutral].join("\n"))).toBe("log output");
	expect(shapeOf([error, ...neutral].join("\n"))).toBe("text output");
	for (const first of ["fatal: x", "thread 'main' panicked at x", "thread 'a b' panicked at x"])
		expect(shapeOf([first, ...neutral].join("\n")), first).toBe("log output");
	expect(shapeOf([`so: ${error}`, frame, ...neutral].join("\n"))).toBe("text output");
});
