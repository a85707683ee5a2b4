import { describe, expect, it } from "vitest";
import { failureSigns } from "../../src/truncation/failures.ts";
import { focusWords } from "../../src/truncation/focus.ts";
import {
	endShares,
	lineFeatures,
	linePattern,
	scoreLines,
	scoreTable,
	stripEscapes,
	textUnits,
	unitText,
} from "../../src/truncation/lines.ts";
import { scoreLog } from "../../src/truncation/log.ts";

const program = [
	"import { a } from 'b';",
	"",
	"function totalPrice(orders) {",
	"\tconst sum = orders.reduce(add, 0);",
	"  if (sum == 0) return;",
	"\t\t\tcall();",
	"}",
	"12: x <= 3",
	"  7→ return loadUserTable",
	"words without any sign of it",
	"words without any sign of it",
].join("\n");

const log = [
	"=== start",
	"step 1 of 3",
	"step 2 of 3",
	"warning: slow",
	"before",
	"2026-03-01T10:00:00Z ERROR disk full",
	"    at open (src/a.ts:1:2)",
	"    at run (node:internal/x:1:2)",
	"",
	"behind",
	"2026-03-01T10:00:09Z ERROR disk full",
	"maybe it failed",
	"maybe it failed",
	"Tests: 1 failed, 2 passed",
	"step 3 of 3",
].join("\n");

const rounded = (numbers: ArrayLike<number>) => Array.from(numbers, (one) => Number(one.toPrecision(5)));

const unitsOf = (text: string) => {
	const units = textUnits(text);
	return Array.from({ length: units.count }, (_, unit) => [unitText(units, unit), units.line[unit]]);
};

const featuresOf = (text: string, focus: string) => {
	const { named, ...features } = lineFeatures(textUnits(text), focusWords(focus));
	return { named, ...Object.fromEntries(Object.entries(features).map(([name, values]) => [name, rounded(values)])) };
};

const worthOf = (text: string, focus: string, isEven = false) => {
	const units = textUnits(text);
	return rounded(scoreLines(units, lineFeatures(units, focusWords(focus)), { isEven }));
};

const worthInLog = (text: string, focus: string) => {
	const units = textUnits(text);
	const { priority, isFailing, isLike } = scoreLog(units, focusWords(focus), failureSigns(units));
	return [
		rounded(priority),
		isFailing,
		isLike(1, 1, 3),
		isLike(1, 1, 2),
		isLike(1, 1, 4),
		isLike(8, 6, 8),
		isLike(9, 1, 3),
	];
};

const isSame = (a: string, b: string) => linePattern(a, 0, a.length) === linePattern(b, 0, b.length);

const strip = (text: string) => `<${text.length}>`;

describe("the units of a text", () => {
	it("are its lines without line feeds", () => {
		expect(["", "a", "a\nb", "a\n\nb\n", "\n", "a\r\nb\r\n"].map(unitsOf)).toEqual([
			[],
			[["a", 1]],
			[
				["a", 1],
				["b", 2],
			],
			[
				["a", 1],
				["", 2],
				["b", 3],
			],
			[["", 1]],
			[
				["a\r", 1],
				["b\r", 2],
			],
		]);
	});

	it("are the states between carriage returns", () => {
		expect(["a\rb\rc\nd", "a\r\r\nb", "\ra\n", "a\r"].map(unitsOf)).toEqual([
			[
				["a\r", 1],
				["b\r", 1],
				["c", 1],
				["d", 2],
			],
			[
				["a\r", 1],
				["\r", 1],
				["b", 2],
			],
			[
				["\r", 1],
				["a", 1],
			],
			[["a\r", 1]],
		]);
	});

	it("are pieces of a line over 1000 characters", () => {
		expect(
			[1_000, 1_001, 1_300].map((length) => unitsOf("x".repeat(length)).map(([text]) => String(text).length)),
		).toEqual([[1000], [320, 320, 320, 41], [320, 320, 320, 320, 20]]);
	});

	it("end at a blank, a comma or an escaped line end", () => {
		expect(
			[
				"abcdefg ".repeat(150),
				"abcdefghi,".repeat(120),
				"abcdefghi;".repeat(120),
				"abcdefghi}".repeat(120),
				"abcdefghijklm\\n".repeat(90),
				`${"x".repeat(200)} `.repeat(7),
				`${"x".repeat(400)} `.repeat(3),
			].map((text) => unitsOf(text).map(([piece]) => String(piece).length)),
		).toEqual([
			[320, 320, 320, 240],
			[320, 320, 320, 240],
			[320, 320, 320, 240],
			[320, 320, 320, 240],
			[315, 315, 315, 315, 90],
			[201, 201, 201, 201, 201, 201, 201],
			[320, 320, 162, 320, 81],
		]);
	});

	it("end after the last blank, comma, semicolon or brace of 320 characters", () => {
		expect(
			[" ", ",", ";", "}", "x"].map((sign) =>
				unitsOf(`abcdef${sign}`.repeat(160)).map(([text]) => String(text).length),
			),
		).toEqual([...[" ", ",", ";", "}"].map(() => [315, 315, 315, 175]), [320, 320, 320, 160]]);
	});

	it("may begin after text that was read before", () => {
		expect([3, 4].map((from) => Array.from(textUnits("ab\ncd\nef", from, true).start).slice(0, 2))).toEqual([
			[3, 6],
			[4, 6],
		]);
	});
});

describe("the features of lines", () => {
	it("of a program", () => {
		expect(featuresOf(program, "totalPrice orders")).toEqual({
			named: [2],
			focus: [0, 0, 3.7533, 0.75327, 0, 0, 0, 0, 0, 0, 0],
			fresh: [0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0],
			bare: [0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0],
			indent: [0, 0, 0, 4, 2, 12, 0, 1, 1, 0, 0],
			acts: [0, 0, 1, 1, 0, 1, 0, 0, 1, 0, 0],
			repeated: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
			length: [22, 0, 29, 34, 21, 7, 0, 6, 20, 28, 28],
		});
	});

	it("leave out what is worth nothing", () => {
		expect(
			rounded(
				lineFeatures(textUnits(program), focusWords(""), Float32Array.from([1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1])).length,
			),
		).toEqual([22, 0, 0, 34, 21, 7, 0, 6, 20, 28, 28]);
	});

	it("name lines with a whole name that three lines at most contain", () => {
		const namedIn = (count: number, focus: string, name = focus) =>
			lineFeatures(textUnits(`other\n${`${name} of it\n`.repeat(count)}`), focusWords(focus)).named;
		expect([namedIn(3, "fooBar"), namedIn(4, "fooBar"), namedIn(1, "plain")]).toEqual([[1, 2, 3], [], []]);
		expect(namedIn(1, "fooBar bazQux", "fooBar bazQux")).toEqual([1]);
	});

	it("know indents of up to 40 columns", () => {
		expect(
			[" ", "\t", "   \t ", "\t".repeat(9), "\t".repeat(10), " ".repeat(39), " ".repeat(45)].map(
				(indent) => rounded(lineFeatures(textUnits(`${indent}word`), focusWords("")).indent)[0],
			),
		).toEqual([1, 4, 8, 36, 40, 39, 40]);
	});

	it("know what acts", () => {
		expect(
			[
				"call(x)",
				"a[0](x)",
				"a = b",
				"a == b",
				"a <= b",
				"a != b",
				"a >= b",
				"return",
				"returns",
				"x return",
				"a=b",
				"f (x)",
			].map((line) => rounded(lineFeatures(textUnits(line), focusWords("")).acts)[0]),
		).toEqual([1, 1, 1, 0, 0, 0, 0, 1, 0, 0, 1, 0]);
	});
});

describe("the worth of lines", () => {
	it("of a program", () => {
		expect(worthOf(program, "")).toEqual([
			0.33857, 0, 0.80329, 0.56619, 0.4314, 0.21868, 0, 0.11703, 1, 0.31542, 0.072329,
		]);
	});

	it("of a program, with a focus", () => {
		expect(worthOf(program, "loadUserTable sum")).toEqual([
			0.1973, 0, 0.46812, 0.37786, 0.2879, 0.12743, 0, 0.25, 1, 0.5, 0.25,
		]);
	});

	it("does not depend on the place if it is even", () => {
		expect(worthOf(`${program}\n${"x".repeat(900)}\n${program}`, "", true)).toEqual([
			0.33426, 0, 0.79485, 0.56181, 0.42949, 0.21819, 0, 0.11691, 1, 0.31617, 0.072696, 0.1386, 0.076855, 0, 0.093518,
			0.12917, 0.09875, 0.050168, 0, 0.026881, 0.11765, 0.072696, 0.072696,
		]);
	});

	it("falls towards the end otherwise", () => {
		expect(worthOf(Array.from({ length: 5 }, () => `${"word ".repeat(150)}`).join("\n"), "")).toEqual([
			1, 0.21474, 0.20119, 0.18906, 0.17816,
		]);
	});

	it("is none of brackets and blanks", () => {
		expect(worthOf("}\n\n)", "")).toEqual([0, 0, 0]);
	});

	it("is raised around a name, within the text", () => {
		const worth = worthOf("fooBar\nb\n}\nd\ne\nfooBar", "fooBar");
		expect(worth.map((one) => one >= 0.25)).toEqual([true, true, false, true, true, true]);
		expect(worth).toHaveLength(6);
	});

	it("gives the start of a text up to two fifths of the room", () => {
		expect([600, 20_400, 60_000].map(endShares.head).map((share) => Number(share.toFixed(3)))).toEqual([
			0.07, 0.4, 0.4,
		]);
	});

	it("of a table with a focus that it does not contain", () => {
		const units = textUnits("a,b\n1,2\n3,4\n5,6\n7,8");
		expect(scoreTable(units, lineFeatures(units, focusWords("missing")))).toEqual(scoreTable(units, undefined));
	});

	it("of failures that differ in numbers", () => {
		// The others are worth what lines behind a failure are.
		expect(worthInLog("ERROR: code 5\nstep\nERROR: code 7\nERROR: code 5", "")[0]).toEqual([113, 9, 73, 9]);
		expect(worthInLog("was denied 5\nstep\nwas denied 7\nwas denied 5", "")[0]).toEqual([6, 0.4, 2, 0]);
	});

	it("of a log with words of failure only, which does not fail", () => {
		expect(worthInLog("maybe it failed\nstep", "").slice(0, 2)).toEqual([[6, 0.4], false]);
	});

	it("is none of blank lines around a failure", () => {
		expect(worthInLog("a\n \nERROR: full\n \nb", "")[0]).toEqual([3, 0, 111, 0, 8]);
	});

	it("of a table", () => {
		expect(rounded(scoreTable(textUnits("a,b\n1,2\n3,4\n5,6\n7,8"), undefined))).toEqual([
			1000, 2.9393, 2.9065, 2.8769, 2.8503,
		]);
	});

	it("of a table with a focus", () => {
		expect(
			rounded(
				scoreTable(
					textUnits("a,b\nxx,2\n3,yyy\nxx,yyy\n7,8"),
					lineFeatures(textUnits("a,b\nxx,2\n3,yyy\nxx,yyy\n7,8"), focusWords("xx yyy")),
				),
			),
		).toEqual([1000, 7.9393, 7.9065, 22.877, 2.8503]);
	});

	it("of a log", () => {
		expect(worthInLog(log, "")).toEqual([
			[0.4, 0.4, 0, 3, 6, 136, 9, 0.5, 0, 6, 5, 6, 6, 125, 9],
			true,
			true,
			false,
			false,
			false,
			false,
		]);
	});

	it("of a log with a focus", () => {
		expect(worthInLog(log, "disk behind")).toEqual([
			[0.60021, 0.59146, 0, 3.1841, 6.2171, 136.97, 11, 1.4656, 0, 6.369, 5.2208, 6.1756, 6.0403, 125.68, 9.043],
			true,
			true,
			false,
			false,
			false,
			false,
		]);
	});

	it("of stack frames after a failure is at least five", () => {
		const sixth = (line: string) => worthInLog(`ERROR: full\na\nb\nc\nd\ne\n${line}`, "")[0] as number[];
		const frames = [" at f", " 12: f", " 1: f", "from lib/a.rb:12", "❯ f", "› f", "--> a", "... 12 more", '  File "a"'];
		for (const line of frames) expect(sixth(line)[6], line).toBe(5);
		for (const line of ["x 1: f", " 1f", "from a:b", "... more"]) expect(sixth(line)[6], line).toBe(4);
	});

	it("is none of a repeated line, even if it has a word of the focus", () => {
		expect(worthInLog("disk 1 read\ndisk 2 read\nend", "disk")[0]).toEqual([2.4, 0, 1.9137]);
	});

	it("tells which lines are alike, with blank ones between", () => {
		const units = textUnits("\n\n\nx 1\n\nx 2\ny");
		const { isLike } = scoreLog(units, focusWords(""), failureSigns(units));
		expect([isLike(0, 0, 3), isLike(3, 3, 6), isLike(3, 3, 7)]).toEqual([false, true, false]);
	});

	it("of a log without a failure", () => {
		expect(worthInLog("a\nb\nwarn: c\nb\n3 passing\n\nx 1\nx 2\nx 3\ny", "")).toEqual([
			[0.4, 0.4, 2, 0, 60, 0, 0.4, 0, 0, 0.4],
			false,
			false,
			false,
			false,
			true,
			false,
		]);
	});
});

describe("lines that are alike", () => {
	it("differ only in digits, bars and blanks", () => {
		expect(
			[
				["a 1", "a 22"],
				["a1.5", "a 7"],
				["[==> ]", "[#> ]"],
				["a b", "ab"],
				["a", "b"],
				["a1", "a"],
				["--", "-"],
				["aa", "a"],
				["━━", "─"],
				["", "  "],
				[`${"x".repeat(240)}a`, `${"x".repeat(240)}b`],
				[`${"x".repeat(239)}a`, `${"x".repeat(239)}b`],
			].map(([a = "", b = ""]) => isSame(a, b)),
		).toEqual([true, true, true, true, false, false, true, false, true, true, true, false]);
	});

	it("are blank without a pattern", () => {
		expect([
			linePattern("", 0, 0),
			linePattern(" \t\r", 0, 3),
			linePattern("a", 0, 1) === 0,
			linePattern("xa", 1, 2) === linePattern("a", 0, 1),
		]).toEqual([0, 0, false, true]);
	});
});

describe("escape sequences", () => {
	it("are removed line by line, in stretches of 4096 characters", () => {
		expect(
			[
				"plain",
				"a\n\u001b[1mb\nc",
				"\u009bx",
				"\u001b\n\u001b",
				`${"x".repeat(4_090)}\u001b[1m${"y".repeat(50)}`,
				`${"x".repeat(4_000)}\u001b[1m${"y".repeat(150)}`,
				`${"x".repeat(4_032)}\u001b[1m${"y".repeat(150)}`,
				`${"x".repeat(4_033)}\u001b[1m${"y".repeat(150)}`,
				`${"x".repeat(5_000)}\u001b[1m`,
			].map((text) => stripEscapes(text, strip).replace(/[xy]{20,}/g, (run) => `(${run.length})`)),
		).toEqual([
			"plain",
			"a\n<6>c",
			"<2>",
			"<2><1>",
			"(4090)<54>",
			"<4096>(58)",
			"<4096>(90)",
			"(4033)<154>",
			"(4096)<908>",
		]);
	});
});
