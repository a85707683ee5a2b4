import { describe, expect, it } from "vitest";
import {
	type FailureSource,
	failureSigns,
	failuresFirst,
	jsonFailures,
	mostlyRare,
	withoutTimes,
	wordHashes,
} from "../../../src/engine/truncation/failures.ts";
import { jsonSpans } from "../../../src/engine/truncation/json-spans.ts";
import { textUnits } from "../../../src/engine/truncation/lines.ts";

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

	it("of lines with words of failure, up to a number of them", () => {
		const denied = Array.from({ length: 30 }, (_, index) => `the wish of ${"abcdefgh"[index % 8]}${index} was denied`);
		const likelyIn = (source: FailureSource) =>
			firstOf(denied.join("\n"), source).filter((one) => one.startsWith("likely"));
		expect([likelyIn("log").length, likelyIn("output").length, likelyIn("failed").length]).toEqual([4, 12, 12]);
		expect(likelyIn("written")).toEqual([]);
		for (const source of ["output", "failed"] as const) expect(likelyIn(source)[11]).toMatch(/^likely 0.15 /);
		expect(likelyIn("log")[3]).toMatch(/^likely 0.1 /);
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

	const matchesOf = (text: string, source: FailureSource, kind: string) =>
		firstOf(text, source)
			.filter((one) => one.startsWith(`${kind} `))
			.map((one) => one.split(" ").slice(2).join(" "));

	it("are those with rare words before the others, each group from both ends inwards", () => {
		const text = [
			"ERROR: worker 1 reset",
			"ERROR: disk gone away",
			"ERROR: worker 2 reset",
			"ERROR: worker 3 reset",
			"ERROR: table lost there",
			"ERROR: worker 4 reset",
			"ERROR: worker 5 reset",
			"ERROR: heap torn apart",
		].join("\n");
		expect(matchesOf(text, "output", "failure")).toEqual([
			...["1-1 1", "7-7 7", "0-0 0", "6-6 6"],
			...["4-4 4", "2-2 2", "5-5 5", "3-3 3"],
		]);
	});

	it("are rare up to two lines, or a share of 2 %", () => {
		const texts = (rare: number, others: number) =>
			[
				...Array.from({ length: others }, (_, index) => `ERROR: worker ${index} reset`),
				...Array.from({ length: rare }, (_, index) => `ERROR: disk ${index} gone`),
			].join("\n");
		const isFirst = (rare: number, others: number) =>
			matchesOf(texts(rare, others), "output", "failure")[0] === `${others}-${others} ${others}`;
		expect([isFirst(2, 10), isFirst(3, 10), isFirst(3, 147), isFirst(3, 146), isFirst(4, 196)]).toEqual([
			...[true, false, true, false, true],
		]);
	});

	it("are not those that differ from an earlier one only in their times", () => {
		const text = "10:00:01 ERROR: full\nstep\n10:00:02 ERROR: full\n10:00:03 ERROR: empty";
		expect(matchesOf(text, "output", "failure")).toEqual(["0-0 0", "3-3 3"]);
		expect(matchesOf("maybe it failed 1s\nx\nmaybe it failed 2s", "output", "likely")).toEqual(["0-0 0"]);
	});

	it("are three lines after a failure, up to a blank one", () => {
		expect(matchesOf("ERROR: full\n1\n2\n3\n4", "output", "behind")).toEqual(["1-1 1", "2-2 2", "3-3 3"]);
		expect(matchesOf("ERROR: full\n1\n \n3", "output", "behind")).toEqual(["1-1 1"]);
		expect(matchesOf("1\nERROR: full", "output", "behind")).toEqual([]);
		// A long line is there once, with all its pieces.
		expect(matchesOf(`ERROR: full\n${"word ".repeat(210)}\nb`, "output", "behind")).toEqual(["1-4 1"]);
	});

	it("are lines with words of failure too, next to failures, but no single names", () => {
		const rest = "\n1\n2\n3\n\nit  failed\nfailed.ts\n  error.log\nerror.md  \nagain it failed";
		expect(matchesOf(`ERROR: full${rest}`, "output", "likely")).toEqual(["5-5 5", "9-9 9"]);
		expect(matchesOf(rest, "log", "likely")).toEqual(["5-5 5", "9-9 9"]);
		expect(matchesOf(`ERROR: full${rest}`, "log", "likely")).toEqual([]);
		expect(matchesOf(rest, "written", "likely")).toEqual([]);
	});

	it("of a long line with two failures are the line and the second piece", () => {
		const long = `${"word ".repeat(70)}ERROR: full ${"word ".repeat(140)}ERROR: empty ${"word ".repeat(30)}`;
		expect(matchesOf(long, "output", "failure")).toEqual(["0-3 1", "3-3 3"]);
	});

	/** The odd lines of copied, moved and linked files with others between. */
	const oddOf = (usual: number, others: readonly string[]) => {
		const lines = Array.from({ length: usual }, (_, index) => `${["copied", "moved", "linked"][index % 3]} ${index}`);
		return matchesOf([...lines, ...others].join("\n"), "output", "odd").map((one) => Number(one.split(" ")[1]) - usual);
	};

	it("of a text of 50 lines or more, nine tenths of which begin with three words, are the others", () => {
		expect(oddOf(49, ["skipped it"])).toEqual([0]);
		expect(oddOf(48, ["skipped it"])).toEqual([]);
		expect(oddOf(45, ["one", "two", "six", "ten", "any"])).toHaveLength(5);
		expect(oddOf(44, ["one", "two", "six", "ten", "any", "few"])).toEqual([]);
		expect(oddOf(48, ["one", "12 !", "", "?"])).toEqual([]);
		expect(oddOf(57, ["12 !", "one"])).toEqual([1]);
	});

	it("are odd with a first word that occurs in three lines at most", () => {
		const times = (count: number) => Array.from({ length: count }, (_, index) => `skipped ${index}`);
		expect(oddOf(57, times(3)).sort()).toEqual([0, 1, 2]);
		expect(oddOf(57, times(4))).toEqual([]);
	});

	it("have a first word of two letters or more in their first 120 characters", () => {
		expect(oddOf(57, ["a copied file"])).toEqual([]);
		expect(oddOf(57, ["c 1", `${"1".repeat(119)} skipped`, "cut off"])).toEqual([2]);
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
		]).toEqual([[0, 0, 0, 2, 0, 0], [0, 2, 0, 0], [2, 2, 2, 2, 2], [0, 0, 0, 0, 2], [0], [2, 0]]);
	});

	it("of the start and the end of a long line", () => {
		const words = "word ".repeat(210);
		// Words of failure that stand at the start or at the end of a line only.
		expect(signsOf(`E: x ${words}`)).toEqual([2, 0, 0, 0]);
		expect(signsOf(`${words}x: unbound variable`)).toEqual([0, 0, 0, 2]);
		expect(signsOf(`${words}x: unbound variable\nbehind`)).toEqual([0, 0, 0, 2, 0]);
		expect(signsOf("E: x ".repeat(210))).toEqual([2, 0, 0, 0]);
	});

	it("of escaped lines are those of lines inside a long one only", () => {
		const quiet = "a line\\n".repeat(150);
		expect(signsOf(quiet)).toEqual([0, 0, 0, 0]);
		expect(signsOf(`${quiet}E: x\\n${quiet}`)).toEqual([0, 0, 0, 2, 0, 0, 0, 0]);
		expect(signsOf('print("a\\nE: x\\nb")')).toEqual([0]);
	});

	it("of a line that began before the text", () => {
		expect(Array.from(failureSigns(textUnits("E: x", 0, true)))).toEqual([0]);
		expect(Array.from(failureSigns(textUnits("E: x", 0, false)))).toEqual([2]);
	});
});

describe("a line without its times", () => {
	it("has a mark for each", () => {
		expect(
			[
				"2026-03-01T10:00:00.123Z x",
				"2026-03-01 10:00:00,5+02:00 x",
				"1:02:03 x",
				"10:00:00.55 x",
				"4.55 MB",
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
			"#",
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
			wordHashes("zz").length,
			wordHashes("éé {{ ~~").length,
		]).toEqual([[1294271946], 2, [], 0, 0, 1, 2, 1, 0]);
		// The last word is cut at 300 characters.
		expect(wordHashes(`${" ".repeat(298)}abc`)).toEqual(wordHashes("ab"));
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

	it("are at most 80 characters long with their key", () => {
		expect([failuresIn({ error: "x".repeat(71) }), failuresIn({ error: "x".repeat(72) })]).toEqual([
			["0: rank 0, leaf 1 ", "1: rank 0, leaf 1 "],
			[],
		]);
		expect(failuresIn({ first: "y".repeat(90), error: "x" })).toEqual(["0: rank 0, leaf 2 ", "2: rank 0, leaf 2 "]);
	});

	it("are strings, numbers or words, and need a key if they are not lines of failure", () => {
		expect(failuresIn({ error: { code: 1 } })).toEqual([]);
		expect(failuresIn([".go:7:7: x"])).toEqual([]);
	});

	it("have the rank of the most important failure inside them", () => {
		const lines = Array.from({ length: 6 }, (_, index) => `ERROR: worker ${index} reset`);
		expect(
			failuresIn([
				[lines[0], lines[1], "ERROR: disk gone away"],
				[lines[2], lines[3]],
				[lines[4], "ok"],
			]),
		).toEqual([
			"0: rank 0, leaf 4 ",
			"1: rank 0, leaf 4 ",
			"2: rank 1, leaf 2 ERROR: worker 0 reset",
			"3: rank 3, leaf 3 ERROR: worker 1 reset",
			"4: rank 0, leaf 4 ERROR: disk gone away",
			"5: rank 4, leaf 7 ",
			"6: rank 5, leaf 6 ERROR: worker 2 reset",
			"7: rank 4, leaf 7 ERROR: worker 3 reset",
			"8: rank 2, leaf 9 ",
			"9: rank 2, leaf 9 ERROR: worker 4 reset",
		]);
		// A key with its value is compared by both.
		const parts = [{ status: "error" }, { status: "error" }, { outcome: "failed" }, { status: "error" }];
		expect(failuresIn(parts)).toContain("6: rank 0, leaf 6 ");
	});

	it("end at an escaped line end, and at no other escape", () => {
		expect(failuresIn({ a: "inE: x" })).toEqual([]);
		expect(failuresIn({ a: "x\tE: x" })).toEqual([]);
		expect(failuresIn({ a: "x\nE: x" })).toEqual(["0: rank 0, leaf 1 ", "1: rank 0, leaf 1 E: x"]);
		expect(failuresIn({ a: "sh: unbound variable\nb" })).toHaveLength(2);
		expect(failuresIn({ a: "\u001b[31mE: x" })).toHaveLength(2);
	});

	it("are read to 1200 characters, even if an escape begins there", () => {
		const line = `E: ${"x".repeat(1_196)}"`;
		expect(failuresIn({ a: line })).toHaveLength(2);
		expect(failuresIn({ a: `${"word ".repeat(300)}Segmentation fault` })).toEqual([]);
	});
});

describe("a failure in a file", () => {
	const kindOf = (line: string) => firstOf(`ok\n${line}\nok`, "written")[0]?.split(" ")[0];
	const sentence = (words: number, end: string) => `ERROR: ${"word ".repeat(words)}${end}`;

	it.each([
		...["- ", "* ", "+ ", "> ", "# ", "###### ", "1. ", "123. ", "| ", "  - "],
		...["12→- ", "12: - ", "12:- ", "12| - ", "12|- ", "12\t- "],
		...["// ", "/* ", "#include ", "import ", "return ", "@param ", "7→\treturn "],
		...["12→import ", "12: import ", "12:import ", "12| import ", "12|import ", "12\timport "],
	])("is doubtful after %j, as in prose or code", (before) => {
		expect(kindOf(`${before}ERROR: disk full`)).toBe("doubtful");
	});

	it.each([";", " {", " (", ",", "}", "; "])("is doubtful before %j, as in code", (behind) => {
		expect(kindOf(`ERROR: disk full${behind}`)).toBe("doubtful");
	});

	it.each([
		sentence(25, "said."),
		sentence(22, "said."),
		sentence(25, 'said.")'),
		sentence(25, "said!"),
		sentence(25, "`it`:"),
		sentence(25, "said. "),
	])("is doubtful in a long sentence: %s", (line) => {
		expect(kindOf(line)).toBe("doubtful");
	});

	it.each([
		...["", "####### ", "1234. ", "ab. ", "12 - "].map((before) => `${before}ERROR: disk full`),
		"xthrow Error: disk full",
		"throwing Error: disk full",
		sentence(25, "said"),
		sentence(25, "said. And more"),
		sentence(25, "9."),
		sentence(20, "said."),
	])("is none of these: %s", (line) => {
		expect(kindOf(line)).toBe("failure");
	});
});
