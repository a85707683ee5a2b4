import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { focusWords } from "../../../src/engine/truncation/focus.ts";
import { lineFeatures, linePattern, stripEscapes, textUnits, unitText } from "../../../src/engine/truncation/lines.ts";

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

const rounded = (numbers: ArrayLike<number>) => Array.from(numbers, (one) => Number(one.toPrecision(5)));

const unitsOf = (text: string) => {
	const units = textUnits(text);
	return Array.from({ length: units.count }, (_, unit) => [unitText(units, unit), units.line[unit]]);
};

const isSame = (a: string, b: string) => linePattern(a, 0, a.length) === linePattern(b, 0, b.length);

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

	it("are pieces of a long line, which end at a blank or a comma where there is one", () => {
		for (const text of ["x".repeat(5_000), "abcdefg ".repeat(700), `${"abcdefghi,".repeat(900)}\nend`]) {
			const pieces = unitsOf(text).map(([piece]) => String(piece));
			expect(pieces.join("").replaceAll("\n", "")).toBe(text.replaceAll("\n", ""));
			expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThan(500);
			if (!text.startsWith("x")) for (const piece of pieces.slice(0, -2)) expect(piece).toMatch(/[ ,]$/);
		}
	});

	it("may begin after text that was read before", () => {
		expect([3, 4].map((from) => Array.from(textUnits("ab\ncd\nef", from, true).start).slice(0, 2))).toEqual([
			[3, 6],
			[4, 6],
		]);
	});
});

describe("the features of lines", () => {
	it("count rare words of the focus for more", () => {
		const { focus } = lineFeatures(textUnits(program), focusWords("totalPrice orders"));
		expect(focus[2]).toBeGreaterThan(focus[3] as number);
		expect(focus[3]).toBeGreaterThan(0);
		expect(focus.reduce((sum, one) => sum + Number(one > 0), 0)).toBe(2);
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
	it("are removed wherever they stand in a long line", () => {
		for (let before = 3_990; before < 4_110; before += 1) {
			const text = `a\n${"x".repeat(before)}\u001b[1m${"y".repeat(150)}\nb`;
			expect(stripEscapes(text, stripVTControlCharacters)).toBe(stripVTControlCharacters(text));
		}
	});
});

it("are few where carriage returns alone follow one another, and none of the text is lost", () => {
	const { count, end } = textUnits(`10 %${"\r".repeat(900)}20 %\r\r\n${"\r".repeat(900)}`);
	expect(count).toBe(5);
	expect(Array.from({ length: count }, (_, unit) => end[unit])).toEqual([904, 909, 910, 1_810, 1_811]);
});
