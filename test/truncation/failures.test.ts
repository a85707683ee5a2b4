import { describe, expect, it } from "vitest";
import {
	type FailureSource,
	failureSigns,
	failuresFirst,
	jsonFailures,
	mostlyRare,
	withoutTimes,
	wordHashes,
} from "../../src/truncation/failures.ts";
import { jsonSpans } from "../../src/truncation/json-spans.ts";
import { textUnits } from "../../src/truncation/lines.ts";

const firstOf = (text: string, source: FailureSource) => {
	const units = textUnits(text);
	return failuresFirst(units, failureSigns(units), source).map(
		({ kind, share, from, to, match }) => `${kind} ${share} ${from}-${to} ${match}`,
	);
};

const signsOf = (text: string) => Array.from(failureSigns(textUnits(text)));

const lines = [
	"start of it",
	"ERROR: disk full",
	"one behind",
	"two behind",
	"",
	"three behind",
	"10:00:01 ERROR: disk full",
	"maybe it failed here",
	"  throw new Error('FATAL: no');",
	"- ERROR: in a list",
	"FATAL: the last of them",
	"behind the last",
	"failed.ts",
	"and so on",
].join("\n");

const even = Array.from({ length: 60 }, (_, index) =>
	index === 33 ? "unusual line" : `${index % 2 === 0 ? "copied" : "moved"} file ${index}`,
).join("\n");

const many = Array.from(
	{ length: 30 },
	(_, index) =>
		`ERROR: ${index % 3 === 0 ? "full" : "worker"} ${"abcdefghijklmnopqrstuvwxyzABCD"[index]}${"zyxwvutsrqponmlkjihgfedcba"[index % 26]}`,
).join("\n");

const failuresIn = (value: object | string, indent = 0) => {
	const text = JSON.stringify(value, null, indent);
	const spans = jsonSpans(text, { isLines: false });
	if (!spans) return [];
	const { rankOf, linesOf, leafOf } = jsonFailures(spans);
	return spans.kind.flatMap((_, place) => {
		const shown = linesOf(place).map(({ start, end }) => text.slice(start, end));
		return rankOf(place) === undefined
			? []
			: [`${place}: rank ${rankOf(place)}, leaf ${leafOf(place)} ${shown.join("|")}`];
	});
};

describe("the lines that come first", () => {
	it("of a log", () => {
		expect(firstOf(lines, "log")).toEqual([
			"failure 0.35 1-1 1",
			"failure 0.35 10-10 10",
			"failure 0.35 6-6 6",
			"failure 0.35 9-9 9",
			"failure 0.35 8-8 8",
		]);
	});

	it("of an output", () => {
		expect(firstOf(lines, "output")).toEqual([
			"failure 0.5 1-1 1",
			"failure 0.5 10-10 10",
			"failure 0.5 6-6 6",
			"failure 0.5 9-9 9",
			"failure 0.5 8-8 8",
			"behind 0.1 2-2 2",
			"behind 0.1 3-3 3",
			"behind 0.1 11-11 11",
			"behind 0.1 12-12 12",
			"behind 0.1 13-13 13",
			"behind 0.1 7-7 7",
		]);
	});

	it("of a text that was written", () => {
		expect(firstOf(lines, "written")).toEqual([
			"failure 0.25 1-1 1",
			"failure 0.25 10-10 10",
			"failure 0.25 6-6 6",
			"doubtful 0.1 9-9 9",
			"doubtful 0.1 8-8 8",
			"behind 0.05 2-2 2",
			"behind 0.05 3-3 3",
			"behind 0.05 11-11 11",
			"behind 0.05 12-12 12",
			"behind 0.05 13-13 13",
			"behind 0.05 7-7 7",
		]);
	});

	it("of a command that failed", () => {
		expect(firstOf(lines, "failed")).toEqual([
			"failure 0.6 1-1 1",
			"failure 0.6 10-10 10",
			"failure 0.6 6-6 6",
			"failure 0.6 9-9 9",
			"failure 0.6 8-8 8",
			"behind 0.1 2-2 2",
			"behind 0.1 3-3 3",
			"behind 0.1 11-11 11",
			"behind 0.1 12-12 12",
			"behind 0.1 13-13 13",
			"behind 0.1 7-7 7",
		]);
	});

	it("of an even text", () => {
		expect([
			firstOf(even, "output"),
			firstOf(even, "written"),
			firstOf(even, "log"),
			firstOf(even.split("\n").slice(0, 49).join("\n"), "output"),
		]).toEqual([["odd 0.05 33-33 33"], [], ["odd 0.1 33-33 33"], []]);
	});

	it("of many failures", () => {
		expect((["log", "written"] as const).map((source) => firstOf(many, source))).toEqual([
			[
				"failure 0.35 0-0 0",
				"failure 0.35 29-29 29",
				"failure 0.35 1-1 1",
				"failure 0.35 28-28 28",
				"failure 0.35 2-2 2",
				"failure 0.35 27-27 27",
				"failure 0.35 3-3 3",
				"failure 0.35 26-26 26",
			],
			[
				"failure 0.25 0-0 0",
				"failure 0.25 29-29 29",
				"failure 0.25 1-1 1",
				"failure 0.25 28-28 28",
				"failure 0.25 2-2 2",
				"failure 0.25 27-27 27",
				"failure 0.25 3-3 3",
				"failure 0.25 26-26 26",
				"failure 0.25 4-4 4",
				"failure 0.25 25-25 25",
				"failure 0.25 5-5 5",
				"failure 0.25 24-24 24",
				"failure 0.25 6-6 6",
				"failure 0.25 23-23 23",
				"failure 0.25 7-7 7",
				"failure 0.25 22-22 22",
				"failure 0.25 8-8 8",
				"failure 0.25 21-21 21",
				"failure 0.25 9-9 9",
				"failure 0.25 20-20 20",
				"failure 0.25 10-10 10",
				"failure 0.25 19-19 19",
				"failure 0.25 11-11 11",
				"failure 0.25 18-18 18",
				"failure 0.25 12-12 12",
				"failure 0.25 17-17 17",
				"failure 0.25 13-13 13",
				"failure 0.25 16-16 16",
				"failure 0.25 14-14 14",
				"failure 0.25 15-15 15",
			],
		]);
	});

	it("of many failures of an output", () => {
		expect(firstOf(many, "output").slice(0, 12)).toEqual([
			"failure 0.5 0-0 0",
			"failure 0.5 29-29 29",
			"failure 0.5 1-1 1",
			"failure 0.5 28-28 28",
			"failure 0.5 2-2 2",
			"failure 0.5 27-27 27",
			"failure 0.5 3-3 3",
			"failure 0.5 26-26 26",
			"failure 0.5 4-4 4",
			"failure 0.5 25-25 25",
			"failure 0.5 5-5 5",
			"failure 0.5 24-24 24",
		]);
	});

	it("of a text without any", () => {
		expect(firstOf("a\nb", "output")).toEqual([]);
	});

	it("of a long line", () => {
		expect(firstOf(`a\n${"word ".repeat(300)}ERROR: full ${"word ".repeat(300)}\nb\nERROR: x`, "output")).toEqual([
			"failure 0.5 1-10 5",
			"failure 0.5 12-12 12",
			"behind 0.1 11-11 11",
		]);
	});
});

describe("the signs of units", () => {
	it("of lines", () => {
		expect(signsOf(lines)).toEqual([0, 2, 0, 0, 0, 0, 2, 1, 2, 2, 2, 0, 1, 0]);
	});

	it("of pieces of a long line", () => {
		expect([
			signsOf(`${"word ".repeat(230)}ERROR: full ${"word ".repeat(90)}`),
			signsOf(`${"word ".repeat(63)}ERROR: full ${"word ".repeat(150)}`),
			signsOf(`"${"word\\nERROR: full\\n".repeat(70)}"`),
			signsOf(`${"word\r".repeat(4)}ERROR: full\r\n`),
			signsOf("a"),
			signsOf("ERROR: full of it\nok"),
		]).toEqual([[0, 0, 0, 2, 0, 0], [2, 2, 0, 0], [2, 2, 2, 2, 2], [0, 0, 0, 0, 2], [0], [2, 0]]);
	});
});

describe("a line without its times", () => {
	it("has a mark for each", () => {
		expect(
			[
				"2026-03-01T10:00:00.123Z x",
				"2026-03-01 10:00:00,5+02:00 x",
				"1:02:03 x",
				"10:00:00.5 x",
				"at 0x7fA0b",
				"12ms 3 s 4.5 MB 50% 1m 2min 3kB",
				"12msx",
				"v12",
				"  x  ",
				`${"x".repeat(399)}12ms`,
			].map(withoutTimes),
		).toEqual([
			"# x",
			"# x",
			"# x",
			"# x",
			"at #",
			"# # # # # # #",
			"12msx",
			"v12",
			"x",
			"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx1",
		]);
	});
});

describe("the words of a line", () => {
	it("count with two letters or more, in any case", () => {
		expect([
			wordHashes("ab AB a b"),
			wordHashes("ab cd").length,
			wordHashes("a1b2"),
			wordHashes("").length,
			wordHashes(`${"x ".repeat(150)}abc`).length,
			wordHashes(`${"x ".repeat(148)}abc`).length,
			wordHashes("ab cd ab").length,
		]).toEqual([[-2064609021, 1294271946], 2, [], 0, 0, 1, 3]);
	});

	it("are mostly rare or not", () => {
		expect([
			mostlyRare(
				[1, 2],
				new Map([
					[1, 3],
					[2, 1],
				]),
				2,
			),
			mostlyRare(
				[1, 2, 3],
				new Map([
					[1, 3],
					[2, 3],
				]),
				2,
			),
			mostlyRare([1], new Map([[1, 2]]), 2),
			mostlyRare([1], new Map([[1, 3]]), 2),
			mostlyRare([], new Map(), 2),
		]).toEqual([true, false, true, false, true]);
	});
});

describe("failures in JSON", () => {
	it("are lines of strings", () => {
		expect(
			failuresIn({ a: "fine", log: 'one\nERROR: full\ntwo\nFATAL: off\r\n"x"', b: ["Segmentation fault"] }),
		).toEqual([
			"0: rank 0, leaf 2 ",
			"2: rank 0, leaf 2 ERROR: full\\n|FATAL: off\\r",
			"3: rank 1, leaf 4 ",
			"4: rank 1, leaf 4 Segmentation fault",
		]);
	});

	it("are keys with values", () => {
		expect(failuresIn({ level: "error", exit_code: 3, ok: false, status: "failed", n: 5, success: true })).toEqual([
			"0: rank 0, leaf 1 ",
			"1: rank 0, leaf 1 ",
			"2: rank 2, leaf 2 ",
			"3: rank 3, leaf 3 ",
			"4: rank 1, leaf 4 ",
		]);
	});

	it("are in indented JSON too", () => {
		expect(failuresIn([{ status: "error" }, { status: "ok" }, { code: "E" }], 2)).toEqual([
			"0: rank 0, leaf 2 ",
			"1: rank 0, leaf 2 ",
			"2: rank 0, leaf 2 ",
		]);
	});

	it("are none in other JSON", () => {
		expect(failuresIn({ a: "error", b: [1, 2], c: null })).toEqual([]);
	});

	it("are at most so long with their key", () => {
		expect([failuresIn({ error: "x".repeat(70) }), failuresIn({ error: "x".repeat(71) })]).toEqual([
			["0: rank 0, leaf 1 ", "1: rank 0, leaf 1 "],
			["0: rank 0, leaf 1 ", "1: rank 0, leaf 1 "],
		]);
	});
});
