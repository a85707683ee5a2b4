import { describe, expect, it } from "vitest";
import {
	characterEdge,
	countOf,
	endsNeeded,
	isAlreadyCut,
	longestLiteral,
	markerFinder,
	noticeFinder,
	readEnds,
} from "../../../src/engine/truncation/head-tail.ts";

const edges = (text: string, from: number) =>
	Array.from({ length: text.length + 2 }, (_, end) => characterEdge(text, from, end)).join(" ");

const endsOf = (headChars: number, tailChars: number, pieces: readonly string[]) => {
	const reading = readEnds({ headChars, tailChars });
	for (const piece of pieces) reading.push(piece);
	return reading.ends();
};

const limits = { headChars: 5, tailChars: 3, marker: "<{omitted_chars}/{original_chars} {ref}>" };

describe("where a text can be cut", () => {
	it("between characters only", () => {
		expect(
			[
				...["abc", "a\r\nb", "🦊b", "é", "e\u0301x", "👩‍👧x", "🇫🇷🇩🇪", "\ud83d", "日本", "a\u0301\u0301\u0301b", "x🦊"],
				// An Arabic number sign belongs to what is behind it.
				...["e\u0300x", "\u0600ab", "xe\u0300\u0301y", "x\u0600a\u0301y"],
			].map((text) => edges(text, 0)),
		).toEqual([
			"0 1 2 3 3",
			"0 1 1 3 4 4",
			"0 0 2 3 3",
			"0 1 1",
			"0 0 2 3 3",
			"0 0 2 3 3 5 6 6",
			"0 0 2 2 4 4 4 4 8 8",
			"0 1 1",
			"0 1 2 2",
			"0 0 2 3 4 5 5",
			"0 1 1 3 3",
			"0 0 2 3 3",
			"0 0 2 3 3",
			"0 1 1 1 4 5 5",
			"0 1 1 1 4 5 5",
		]);
	});

	it("before a lone line feed and after a lone carriage return", () => {
		expect([edges("a\nb", 0), edges("a\rb", 0)]).toEqual(["0 1 2 3 3", "0 1 2 3 3"]);
	});

	it("not before its start", () => {
		expect([edges("a\r\nb", 2), edges("ae\u0301x", 1)]).toEqual(["2 2 2 3 4 4", "1 1 1 3 4 4"]);
		expect([edges("a🦊b", 1), edges("e\u0301x", 2), edges("abc", 2)]).toEqual([
			"1 1 1 3 4 4",
			"2 2 2 3 3",
			"2 2 2 3 3",
		]);
	});

	it("anywhere in a cluster of over 80 code units", () => {
		expect([60, 79, 80, 81, 100].map((end) => characterEdge(`xa${"\u0301".repeat(120)}b`, 0, end))).toEqual([
			1, 1, 1, 1, 100,
		]);
	});
});

describe("the ends of a text in pieces", () => {
	it("are its head and its tail", () => {
		expect([
			endsOf(3, 2, ["ab", "", "cdef"]),
			endsOf(3, 2, ["a"]),
			endsOf(0, 0, ["abc"]),
			endsOf(10, 10, ["abc", "def"]),
			endsOf(2, 0, ["abc", "d"]),
			endsOf(1, 3, ["x".repeat(70_000), "ab"]),
		]).toEqual([
			{ head: "abc", tail: "ef", chars: 6 },
			{ head: "a", tail: "a", chars: 1 },
			{ head: "", tail: "", chars: 3 },
			{ head: "abcdef", tail: "abcdef", chars: 6 },
			{ head: "ab", tail: "", chars: 4 },
			{ head: "x", tail: "xab", chars: 70_002 },
		]);
	});

	it("are held of a long text too", () => {
		expect(
			(() => {
				const { head, tail, chars } = endsOf(4, 3, [
					...Array.from({ length: 9 }, (_, index) => `${index}`.repeat(30_000)),
					"end",
				]);
				return [head, tail, chars];
			})(),
		).toEqual(["0000", "end", 270003]);
	});

	it("are read one further than they are shown", () => {
		expect([
			endsNeeded({ maxChars: 10, headChars: 4, tailChars: 20 }),
			endsNeeded({ maxChars: 0, headChars: 4, tailChars: 2 }),
		]).toEqual([
			{ headChars: 11, tailChars: 21 },
			{ headChars: 5, tailChars: 3 },
		]);
	});
});

describe("a text that is cut already", () => {
	it("has the marker between head and tail, one shorter at a pair", () => {
		expect(
			[
				"abcde<1/9 x>fgh",
				"abcd<1/9 x>fgh",
				"abcde<1/9 x>fg",
				"abcd<1/9 x>fg",
				"abc<1/9 x>fgh",
				"abcde<1/9 x>f",
				"abcdef<1/9 x>fgh",
				"abcde<1/9>fgh",
				"abcde<1/9 x>fghi",
				`abcde<1/9 x>${"x".repeat(99)}`,
				"<1/9 x>",
			].map((text) => isAlreadyCut(text, limits)),
		).toEqual([true, true, true, true, false, false, false, false, false, false, false]);
	});

	it("may have no head or no tail", () => {
		expect([
			isAlreadyCut("<1/9 x>abc", { ...limits, headChars: 0 }),
			isAlreadyCut("abcde<1/9 x>", { ...limits, tailChars: 0 }),
			isAlreadyCut("<1/9 x>", { ...limits, headChars: 0, tailChars: 0 }),
		]).toEqual([true, true, true]);
	});
});

describe("markers and notices in a text", () => {
	it("are found with their references", () => {
		expect([
			markerFinder([limits.marker])("ab<1/9 xyz>cd<2/8 -> <3/x y>"),
			markerFinder(["[{omitted_chars}]", "no"])("a[12]b no"),
			markerFinder([])("x"),
		]).toEqual([
			[
				{ head: "ab", tail: "cd<2/8 -> <3/x y>", ref: "xyz" },
				{ head: "ab<1/9 xyz>cd", tail: " <3/x y>", ref: undefined },
			],
			[
				{ head: "a", tail: "b no", ref: undefined },
				{ head: "a[12]b ", tail: "", ref: undefined },
			],
			[],
		]);
	});

	it("are found with their place", () => {
		expect(
			(() => {
				const find = noticeFinder(["[cut {omitted_chars} of {total_chars}, {ref}]", "[short {omitted_chars}]"]);
				return [
					"[cut 1 of 9, ab]",
					"x[cut 1 of 9, ab]",
					'{"_truncated":"[cut 1 of 9, -]"}',
					'[ { "__truncated" : "[short 3]"',
					'[{"truncated":"[short 3]"',
					`${" ".repeat(101)}[short 3]`,
					`[${" ".repeat(83)}{"_truncated":"[short 3]"`,
					`[${" ".repeat(84)}{"_truncated":"[short 3]"`,
					"[cut x of 9, ab]",
					"[short 1] [short 2]",
				].map(find);
			})(),
		).toEqual([
			[{ ref: "ab", totalChars: 9, isAtTop: true }],
			[{ ref: "ab", totalChars: 9, isAtTop: false }],
			[{ ref: undefined, totalChars: 9, isAtTop: true }],
			[{ ref: undefined, totalChars: undefined, isAtTop: true }],
			[{ ref: undefined, totalChars: undefined, isAtTop: false }],
			[{ ref: undefined, totalChars: undefined, isAtTop: false }],
			[{ ref: undefined, totalChars: undefined, isAtTop: true }],
			[{ ref: undefined, totalChars: undefined, isAtTop: false }],
			[],
			[
				{ ref: undefined, totalChars: undefined, isAtTop: true },
				{ ref: undefined, totalChars: undefined, isAtTop: false },
			],
		]);
	});

	it("may have no variable", () => {
		expect(noticeFinder(["[cut]"])("[cut]")).toEqual([{ ref: undefined, totalChars: undefined, isAtTop: true }]);
	});

	it("have a longest literal", () => {
		expect(["{a}bc{d}efg{h}", "{a}", "ab{c}de", "{a}b{c}"].map(longestLiteral)).toEqual(["efg", "", "ab", "b"]);
	});

	it("are counted", () => {
		expect([countOf("abcabc", "a"), countOf("", "a"), countOf("aaa", "a")]).toEqual([2, 0, 3]);
	});
});
