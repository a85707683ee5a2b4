import { describe, expect, it } from "vitest";
import type { ContextReport } from "../../src/operations/report.ts";
import { contextText, styleOfStream } from "../../src/operations/report-text.ts";
import { columnsOf } from "../../src/operations/text-width.ts";
import { partsOfWindow } from "../../src/operations/window-words.ts";

const report: ContextReport = {
	model: "claude-sonnet-4-5",
	method: "estimated",
	encoding: "o200k_base",
	factor: 1.2,
	context_window: 200_000,
	budget_tokens: 184_000,
	notes: [],
	price_steps: [200_000, 50_000],
	tokens: 100_000,
	messages: 1_009,
	tool_turns: 1,
	by_part: [
		{ part: "system_prompt", tokens: null, groups: [] },
		{ part: "tools", tokens: null, groups: [] },
		{ part: "people", tokens: 3_000, groups: [] },
		{ part: "assistant", tokens: 13_000, groups: [] },
		{ part: "reasoning", tokens: 0, groups: [] },
		{ part: "calls", tokens: 20_000, groups: [] },
		{
			part: "tool_results",
			tokens: 64_000,
			groups: [
				{ name: "Read", tokens: 60_000, count: 102, freed_tokens: 55_000 },
				{ name: null, tokens: 4_000, count: 2, freed_tokens: 0 },
			],
		},
	],
	unrecorded_tokens: 17_900,
	repeated_tokens: 0,
	masking: { freed_tokens: 55_000, masked: 99, rewritten_tokens: 40_000, calls_to_break_even: 7 },
	by_role: [
		{ role: "tool", tokens: 64_000, chars: 241_230, messages: 504 },
		{ role: "assistant", tokens: 36_000, chars: 201_230, messages: 505 },
	],
	by_tool: [
		{ tool: "Read", tokens: 60_000, results: 102 },
		{ tool: null, tokens: 4_000, results: 2 },
	],
	biggest_results: [
		{
			tool: "Read",
			call_id: "toolu_1",
			target: "packages/agent/src/commands/report/context-report.ts",
			message: 46,
			tokens: 9_000,
			age_turns: 210,
			used_since: true,
			stale: false,
		},
		{
			tool: null,
			call_id: null,
			target: null,
			message: 1_008,
			tokens: 800,
			age_turns: 0,
			used_since: false,
			stale: true,
		},
	],
	presets: [
		{
			preset: "balanced",
			tokens_after: 40_000,
			freed_tokens: 60_000,
			masked: 390,
			truncated: 3,
			dropped: 0,
			fits: true,
			rewritten_tokens: 30_000,
			calls_to_break_even: 6,
		},
		{
			preset: "context-trim",
			tokens_after: 100_012,
			freed_tokens: -12,
			masked: 0,
			truncated: 0,
			dropped: 2,
			fits: false,
			rewritten_tokens: 100,
			calls_to_break_even: null,
		},
	],
};

const linesOf = (columns: number, bars: "blocks" | "ascii" | "none", given = report) =>
	contextText(given, { columns, bars, all: true }).split("\n");

describe("a context report as text", () => {
	it("shows each figure under its heading", () => {
		expect(linesOf(100, "ascii")).toEqual([
			"claude-sonnet-4-5: 100 000 tokens, 1 009 messages, 1 tool turn",
			"tokens estimated for the model: 1.2 × the count in o200k_base",
			"over the price step at 50 000; 100 000 left to the price step at 200 000",
			"50.0 % of a window of 200 000; budget 184 000, 84 000 left",
			`${"#".repeat(30)}${".".repeat(30)}`,
			"",
			"What fills it      count  tokens   share  masking frees",
			"people's words             3 000   3.0 %                 ##",
			"assistant's words         13 000  13.0 %                 ########",
			"calls of tools            20 000  20.0 %                 #############",
			`results of tools     104  64 000  64.0 %         55 000  ${"#".repeat(40)}`,
			`  Read               102  60 000  60.0 %         55 000  ${"#".repeat(38)}`,
			"  unknown              2   4 000   4.0 %              0  ###",
			"Not in this record: system prompt and tools (some 17 900 by an answer's usage).",
			"",
			"Masking by this policy frees 55 000 tokens (55.0 %) of 99 results. 40 000 are written to the cache",
			"again, which pays after 7 calls.",
			"The preset balanced would free 60 000.",
			"",
			"Biggest results  tokens  age  used  stale  message  of",
			"Read              9 000  210   yes     no       46  …ges/agent/src/commands/report/context-report.ts",
			"unknown             800    0    no    yes     1008",
			"",
			"Preset          after   freed  fits  rewritten  pays after  masked  cut  dropped",
			"balanced       40 000  60 000   yes     30 000     6 calls     390    3        0  #######",
			"context-trim  100 012     -12    no        100       never       0    0        2  ##################",
			"",
			"age: tool turns since; stale: the same text or call came again",
			"used: an answer took text from it that was nowhere else",
			"rewritten: tokens from the first change on, which the cache stores again",
			"pays after: calls until the freed tokens have paid for that",
			"",
		]);
	});

	it("has the given width, and no bars without room or on request", () => {
		for (const columns of [40, 60, 80, 100, 140]) {
			const lines = linesOf(columns, "blocks");
			const bars = lines.filter((line) => /[█▏▎▍▌▋▊▉░]/.test(line));
			expect(bars.length).toBeGreaterThan(columns < 70 ? 0 : 3);
			for (const line of bars) expect(line.length).toBeLessThanOrEqual(columns);
			const named = lines.filter((line) => line.includes("…") || line.endsWith("context-report.ts"));
			expect(named).toHaveLength(1);
			if (columns > 60) expect(named[0]?.length).toBeLessThanOrEqual(columns);
		}
		for (const columns of [80, 100]) {
			for (const line of linesOf(columns, "ascii")) expect(line.length).toBeLessThanOrEqual(columns);
		}
		expect(linesOf(79, "none")).toContain("Preset          after   freed  fits  pays after  masked  cut  dropped");
		expect(linesOf(60, "none")).toContain("Preset          after   freed  fits  pays after  dropped");
		expect(linesOf(140, "none").join("")).not.toMatch(/[█▏▎▍▌▋▊▉░#]/);
		expect(linesOf(-5, "ascii")).toEqual(linesOf(40, "ascii"));
	});

	it("ends with the notes", () => {
		const noted = linesOf(80, "ascii", { ...report, notes: ["One note.", "Another."] });
		expect(noted.slice(-4)).toEqual(["", "One note.", "Another.", ""]);
	});

	it("handles unknown values, nothing, and many tools", () => {
		const unknown = {
			...report,
			model: null,
			method: "exact",
			factor: 1,
			context_window: null,
			budget_tokens: null,
			price_steps: [],
		} as const;
		expect(linesOf(80, "ascii", unknown).slice(0, 4)).toEqual([
			"100 000 tokens, 1 009 messages, 1 tool turn",
			"tokens counted in o200k_base",
			"The context window is not known: name the model, or give the window.",
			"",
		]);
		const none = { tokens: 0, messages: 0, tool_turns: 0, by_part: [], biggest_results: [], presets: [] };
		const empty = linesOf(80, "ascii", { ...report, ...none });
		expect(empty.join("\n")).not.toMatch(/NaN|Infinity|What fills|Biggest/);
		const over = linesOf(80, "none", { ...report, tokens: 190_000 });
		expect(over[3]).toBe("95.0 % of a window of 200 000; budget 184 000, 6 000 too many");
	});

	it("has one screen of lines, in which servers and tools share the room", () => {
		const groups = (count: number, name: string) =>
			Array.from({ length: count }, (_, place) => {
				return { name: `${name}-${place}`, tokens: 100 - place, count: 2, freed_tokens: 10 };
			});
		const screenOf = (servers: number, tools: number) => {
			const by_part = [
				{ part: "system_prompt", tokens: 9, groups: [] },
				{ part: "tools", tokens: 9, groups: groups(servers, "server") },
				{ part: "tool_results", tokens: 9, groups: groups(tools, "tool") },
			] as const;
			return contextText({ ...report, by_part }, { columns: 80, bars: "none" })
				.trimEnd()
				.split("\n");
		};
		expect(screenOf(40, 40)).toHaveLength(24);
		const named = (lines: readonly string[], name: string) => lines.filter((line) => line.startsWith(`  ${name}-`));
		expect([named(screenOf(40, 40), "server").length, named(screenOf(40, 40), "tool").length]).toEqual([2, 7]);
		expect(screenOf(40, 40)).toContain("  38 more            76   3 021  3.0 %");
		expect(screenOf(40, 40)).toContain("  33 more            66   2 541  2.5 %            330");
		expect([named(screenOf(9, 2), "server").length, named(screenOf(9, 2), "tool").length]).toEqual([9, 2]);
		expect(named(screenOf(0, 11), "tool")).toHaveLength(11);
		const alone = [
			{ part: "tools", tokens: 9, groups: [{ name: null, tokens: 9, count: 3, freed_tokens: 0 }] },
		] as const;
		expect(linesOf(80, "none", { ...report, by_part: alone }).join()).not.toContain("built in");
	});

	it("has one screen of 24 lines and 80 columns with names and notes of any length", () => {
		const groups = Array.from({ length: 60 }, (_, place) => {
			return { name: `${"长".repeat(place)}${"n".repeat(200)}${place}`, tokens: 9, count: 1, freed_tokens: 0 };
		});
		const by_part = partsOfWindow.map((part) => ({ part, tokens: 9, groups: /^tool/.test(part) ? groups : [] }));
		const model = "m".repeat(300);
		const text = contextText(
			{ ...report, model, by_part, notes: ["word ".repeat(30)] },
			{ columns: 80, bars: "ascii" },
		);
		const lines = text.trimEnd().split("\n");
		expect(lines.length).toBeLessThanOrEqual(24);
		for (const line of lines) expect(columnsOf(line)).toBeLessThanOrEqual(80);
	});

	it("says how many tokens stand in the window twice, if any do", () => {
		const twice = linesOf(140, "none", { ...report, repeated_tokens: 900 }).filter((line) => /twice/.test(line));
		expect(twice).toEqual(["900 tokens (0.9 %) stand there twice: results repeat lines of earlier ones."]);
		expect(linesOf(140, "none", report).filter((line) => /twice/.test(line))).toEqual([]);
	});

	it("gives the tokens that masking frees, or the reason for none", () => {
		const saidOf = (masking: ContextReport["masking"]) =>
			linesOf(140, "none", { ...report, masking, presets: [] }).find(
				(line) => /asking/.test(line) && line.endsWith("."),
			);
		expect(saidOf(null)).toBe("The policy turns masking off.");
		const some = { freed_tokens: 900, masked: 1, rewritten_tokens: 0, calls_to_break_even: 0 };
		expect(saidOf(some)).toBe("Masking by this policy frees 900 tokens (0.9 %) of 1 result.");
		expect(saidOf({ ...some, calls_to_break_even: null })).toMatch(
			/0 are written to the cache again, which never pays\.$/,
		);
		expect(saidOf({ ...some, masked: 0 })).toBe("Masking by this policy frees nothing now.");
	});

	it("prints no name that a terminal would read as a command", () => {
		const esc = "\u001b[2J\u009b\u202e";
		const big = report.biggest_results.map((one) => ({ ...one, target: null, call_id: `id${esc}` }));
		const text = contextText({ ...report, model: `m${esc}`, biggest_results: big }, { columns: 80, bars: "none" });
		expect(text.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
	});
});

describe("a bar", () => {
	it("has a resolution of an eighth of a character, and shows anything above zero", () => {
		// The bar of the window is 40 characters long here.
		const barOf = (fortieths: number, bars: "blocks" | "ascii" | "none") => {
			const window = { tokens: fortieths, context_window: Number.isNaN(fortieths) ? 0 : 40 };
			const line = contextText({ ...report, ...window, price_steps: [] }, { columns: 40, bars }).split("\n")[3];
			return line?.replace(/[░.]+$/, "");
		};
		const full = "█".repeat(40);
		expect([0, 0.004, 1 / 8, 2, 17 / 8, 40, 41, -1, Number.NaN].map((part) => barOf(part, "blocks"))).toEqual([
			...["", "▏", "▏", "██", "██▏", full, full, "", ""],
		]);
		expect(barOf(0.04, "ascii")).toBe("#");
		expect(barOf(20, "none")).toBe("");
	});
});

describe("the style of a stream", () => {
	it("draws blocks in the width of a terminal, and is plain on request or without a terminal", () => {
		const style = (stream: object, environment = {}) => Object.values(styleOfStream(stream, environment));
		expect(style({ isTTY: true, columns: 72 })).toEqual([72, "blocks"]);
		expect(style({ isTTY: true, columns: 300 })).toEqual([140, "blocks"]);
		expect(style({ isTTY: true, columns: 0 })).toEqual([80, "blocks"]);
		expect(style({ isTTY: true, columns: 72 }, { NO_COLOR: "1" })).toEqual([72, "ascii"]);
		expect(style({ isTTY: true, columns: 72 }, { NO_COLOR: "" })).toEqual([72, "blocks"]);
		expect(style({ isTTY: true, columns: 72 }, { TERM: "dumb" })).toEqual([72, "ascii"]);
		expect(style({ columns: 72 })).toEqual([80, "ascii"]);
	});
});
