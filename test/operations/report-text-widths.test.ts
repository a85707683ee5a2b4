import { describe, expect, it } from "vitest";
import type { ContextReport } from "../../src/operations/report.ts";
import type { PresetOutcome } from "../../src/operations/report-presets.ts";
import { alignColumns, contextText } from "../../src/operations/report-text.ts";
import { endOf } from "../../src/operations/text-width.ts";
import { whole } from "../../src/operations/window-words.ts";

const outcome = (given: Partial<PresetOutcome>): PresetOutcome => ({
	preset: "balanced",
	tokens_after: 40_000,
	freed_tokens: 60_000,
	masked: 390,
	truncated: 3,
	dropped: 0,
	fits: null,
	rewritten_tokens: 30_000,
	calls_to_break_even: 6,
	...given,
});

const result = { tool: "Read", target: null, tokens: 9, age_turns: 1_000, used_since: true, stale: false };

const report: ContextReport = {
	model: "gpt-4o",
	method: "exact",
	encoding: "o200k_base",
	factor: 1,
	context_window: 100_000,
	budget_tokens: 90_000,
	notes: [],
	price_steps: [],
	tokens: 120_000,
	messages: 1,
	tool_turns: 1_234_567,
	by_part: [
		{
			part: "tool_results",
			tokens: 64_000,
			groups: [
				{ name: "a".repeat(30), tokens: 901, count: 1, freed_tokens: 0 },
				{ name: `b${"c".repeat(30)}`, tokens: 900, count: 1, freed_tokens: 0 },
			],
		},
	],
	unrecorded_tokens: null,
	repeated_tokens: 0,
	masking: null,
	by_role: [{ role: "user", tokens: 64_000, chars: 1, messages: 1 }],
	by_tool: [
		{ tool: "a".repeat(32), tokens: 901, results: 1 },
		{ tool: `b${"c".repeat(32)}`, tokens: 900, results: 1 },
	],
	biggest_results: [
		{ ...result, call_id: "c".repeat(90), message: 1_234 },
		{ ...result, call_id: "\u001b x\n\ty ", message: 5 },
	],
	presets: [
		outcome({}),
		outcome({ preset: "p2", calls_to_break_even: 0 }),
		outcome({ preset: "p3", calls_to_break_even: 1 }),
		outcome({ preset: "p4", calls_to_break_even: null }),
		outcome({ preset: "p5", calls_to_break_even: null, freed_tokens: 0, tokens_after: 0 }),
	],
};

type Bars = "blocks" | "ascii" | "none";

const linesOf = (columns: number, bars: Bars, given: Partial<ContextReport> = {}) =>
	contextText({ ...report, ...given }, { columns, bars, all: true }).split("\n");

const lineOf = (start: string, columns: number, bars: Bars, given: Partial<ContextReport> = {}) =>
	linesOf(columns, bars, given).find((line) => line.startsWith(start));

describe("the text of a report", () => {
	it("counts one of a thing and millions of another, and fills the bar of an overfull window", () => {
		expect(linesOf(120, "blocks").slice(0, 6)).toEqual([
			"gpt-4o: 120 000 tokens, 1 message, 1 234 567 tool turns",
			"tokens counted in o200k_base",
			"120.0 % of a window of 100 000; budget 90 000, 30 000 too many",
			"█".repeat(60),
			"",
			"What fills it                     count  tokens   share  masking frees",
		]);
		expect(linesOf(40, "blocks", { tokens: 33_333 }).slice(2, 5)).toEqual([
			"33.3 % of a window of 100 000; budget 90 000, 56 667 left",
			`${"█".repeat(13)}▍${"░".repeat(26)}`,
			"",
		]);
		expect(linesOf(120, "none")[3]).toBe("");
		expect(linesOf(120, "none", { tokens: 90_000 })[2]).toContain("budget 90 000, 0 left");
		for (const given of [{ context_window: null }, { budget_tokens: null }]) {
			expect(linesOf(80, "none", given)[2]).toMatch(/^The context window is not known/);
		}
	});

	it("says for each preset whether it is known to fit, and when it pays", () => {
		const start = linesOf(120, "none").indexOf(
			"Preset     after   freed  fits  rewritten  pays after  masked  cut  dropped",
		);
		expect(linesOf(120, "none").slice(start + 1, start + 7)).toEqual([
			"balanced  40 000  60 000     –     30 000     6 calls     390    3        0",
			"p2        40 000  60 000     –     30 000     at once     390    3        0",
			"p3        40 000  60 000     –     30 000      1 call     390    3        0",
			"p4        40 000  60 000     –     30 000       never     390    3        0",
			"p5             0       0     –     30 000           –     390    3        0",
			"",
		]);
		expect(lineOf("p2", 120, "none", { presets: [outcome({ preset: "p2", fits: false })] })).toContain("  no  ");
	});

	it.each([
		[40, "Preset     after   freed  fits  pays after"],
		[50, "Preset     after   freed  fits  pays after"],
		[51, "Preset     after   freed  fits  pays after  dropped"],
		[58, "Preset     after   freed  fits  pays after  dropped"],
		[59, "Preset     after   freed  fits  pays after  masked  dropped"],
		[63, "Preset     after   freed  fits  pays after  masked  dropped"],
		[64, "Preset     after   freed  fits  pays after  masked  cut  dropped"],
		[74, "Preset     after   freed  fits  pays after  masked  cut  dropped"],
		[75, "Preset     after   freed  fits  rewritten  pays after  masked  cut  dropped"],
	])("of %i columns leaves out the columns that have no room", (columns, heading) => {
		expect(lineOf("Preset", columns, "blocks")).toBe(heading);
	});

	it.each([
		[80, "balanced  40 000  60 000     –     30 000     6 calls     390    3        0"],
		[81, "balanced  40 000  60 000     –     30 000     6 calls     390    3        0  #"],
		[84, "balanced  40 000  60 000     –     30 000     6 calls     390    3        0  ##"],
		[400, `balanced  40 000  60 000     –     30 000     6 calls     390    3        0  ${"#".repeat(13)}`],
	])("of %i columns has bars of at least 4 and at most 40 characters", (columns, line) => {
		expect(lineOf("balanced", columns, "ascii")).toBe(line);
	});

	it("cuts long names and targets at their beginning", () => {
		expect(lineOf("  aaa", 120, "none")).toBe(`  ${"a".repeat(30)}      1     901   0.8 %              0`);
		expect(lineOf("  …", 120, "none")).toBe(`  …${"c".repeat(29)}      1     900   0.8 %              0`);
		const row = "Read                  9  1 000   yes     no";
		const of = (columns: number, message: string) => lineOf(`${row}${message}`, columns, "none")?.slice(row.length);
		expect(of(200, "     1234")).toBe(`     1234  ${"c".repeat(80)}`);
		expect(of(134, "     1234")).toBe(`     1234  ${"c".repeat(80)}`);
		expect(of(133, "     1234")).toBe(`     1234  …${"c".repeat(78)}`);
		expect(of(40, "     1234")).toBe("     1234  …c");
		expect(of(200, "        5")).toBe("        5  x y");
		const targeted = [{ ...result, call_id: "id", target: "src/a.ts", message: 5 }];
		expect(lineOf(row, 80, "none", { biggest_results: targeted })?.endsWith("  src/a.ts")).toBe(true);
		const nameless = [{ ...result, call_id: null, message: 5 }];
		expect(lineOf(row, 80, "none", { biggest_results: nameless })).toBe(`${row}        5`);
	});

	it("explains its columns, and the columns of results only with results", () => {
		const legend = [
			"age: tool turns since; stale: the same text or call came again",
			"used: an answer took text from it that was nowhere else",
			"rewritten: tokens from the first change on, which the cache stores again",
			"pays after: calls until the freed tokens have paid for that",
			"",
		];
		expect(linesOf(80, "none").slice(-6)).toEqual(["", ...legend]);
		expect(linesOf(80, "none", { biggest_results: [] }).slice(-4)).toEqual(["", ...legend.slice(2)]);
		expect(lineOf("results of tools", 80, "none", { tokens: 0 })).toContain("–");
	});
});

it("writes whole numbers in groups of three, rounded", () => {
	expect([0, 999, 1_000, 1_234_567, -12_345, 2.5, 999.5].map(whole)).toEqual([
		..."0|999|1 000|1 234 567|-12 345|3|1 000".split("|"),
	]);
});

it("keeps the end of a text that is too long", () => {
	expect([endOf("abcd", 4), endOf("abcd", 3), endOf("abcd", 2), endOf("", 2)]).toEqual(["abcd", "…cd", "…d", ""]);
});

it("aligns the first column at its left, and the others at their right", () => {
	expect(alignColumns([])).toEqual([]);
	expect(
		alignColumns([
			["a", "bb", "c"],
			["long", "b", "ccc"],
		]),
	).toEqual(["a     bb    c", "long   b  ccc"]);
	expect(
		alignColumns(
			[
				["a", "b"],
				["aa", "bbb"],
			],
			() => true,
		),
	).toEqual(["a   b  ", "aa  bbb"]);
});

it("draws bars of the nearest eighth, or of whole signs", () => {
	const barOf = (tokens: number, bars: Bars) =>
		linesOf(40, bars, { tokens, context_window: 40 })[3]?.replace(/[░.]+$/, "");
	const blocks = Array.from({ length: 9 }, (_, eighth) => barOf(eighth / 8, "blocks"));
	expect(blocks).toEqual(["", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"]);
	const signs = [0, 0.4, 1.6, 5, 10, 80].map((part) => barOf(part, "ascii")?.length);
	expect(signs).toEqual([0, 1, 2, 5, 10, 40]);
});
