import { describe, expect, it } from "vitest";
import type { OutputTruncation, TruncateOutputParameters } from "../../src/truncation/draft.ts";
import { roughCount } from "../support/rough-count.ts";
import { samples } from "./excerpt-samples.ts";
import { shorten, shortenPieces } from "./shorten.ts";

const htmlToText = (html: string) => html.replace(/<\/p>/g, "\n").replace(/<[^>]*>/g, "");

const spans = (all: readonly { readonly from: number; readonly to: number }[]) =>
	all.map(({ from, to }) => (from === to ? `${from}` : `${from}–${to}`)).join(" ");

/** The strategy, the lines or characters that are left out, and the length of the excerpt. */
function inOneLine({ strategy, omitted, omittedLines, lines, chars, notices, leastBudget }: OutputTruncation): string {
	const isOfLines = lines.total > 5;
	const gone = isOfLines ? omittedLines : omitted.map(({ start, end }) => ({ from: start, to: end }));
	const least = leastBudget === undefined ? "" : `, needs ${leastBudget}`;
	return `${strategy}: without ${spans(gone)}; ${lines.kept}/${lines.total}, ${chars.kept}, ${chars.after}, ${notices.length}${least}`;
}

type Given = Partial<TruncateOutputParameters>;

describe("the excerpt of an output", () => {
	it.each<[string, number, Given, string]>([
		["a log of a failure", 120, {}, "log: without 1–90 92–240; 1/240, 52, 88, 2"],
		["a log of a failure", 400, {}, "log: without 2–90 94–239; 5/240, 248, 363, 3"],
		["a log of a failure", 1200, {}, "log: without 2–88 96 102–150 152–170 172–239; 16/240, 836, 1096, 6"],
		["a log without a failure", 120, {}, "log: without 2–240; 1/240, 58, 76, 1"],
		["a log without a failure", 400, {}, "log: without 5–239; 5/240, 295, 391, 2"],
		["a log without a failure", 1200, {}, "log: without 16–238; 17/240, 1010, 1190, 2"],
		["a program", 120, {}, "head_tail: without 2–179; 2/180, 54, 73, 1"],
		["a program", 400, {}, "head_tail: without 4–176; 7/180, 265, 360, 2"],
		["a program", 1200, {}, "head_tail: without 14–167; 26/180, 983, 1161, 2"],
		["a text", 120, {}, "head_tail: without 1–119; 0/119, 44, 120, 1"],
		["a text", 400, {}, "head_tail: without 3–117; 4/119, 279, 374, 2"],
		["a text", 1200, {}, "head_tail: without 9–111; 16/119, 984, 1161, 2"],
		["a diff", 120, {}, "diff: without 1–2 4–170; 1/170, 17, 70, 2"],
		["a diff", 400, {}, "diff: without 1–3 10–12 14–170; 7/170, 140, 364, 4"],
		[
			"a diff",
			1200,
			{},
			"diff: without 2 21–27 29–30 32–34 36–37 39–53 55–61 63–71 73–87 89–95 97–105 107–121 123–129 131–170; 31/170, 679, 1198, 15",
		],
		["a run of tests", 120, {}, "log: without 2–91 93–155; 3/156, 67, 105, 2"],
		["a run of tests", 400, {}, "log: without 2–91 99–153; 11/156, 283, 397, 3"],
		["a run of tests", 1200, {}, "log: without 2–89 124–150; 41/156, 1003, 1200, 3"],
		["a table", 120, {}, "table: without 4–150; 4/151, 88, 107, 1"],
		["a table", 400, {}, "table: without 13–150; 13/151, 296, 392, 2"],
		["a table", 1200, {}, "table: without 33–142; 41/151, 1006, 1184, 2"],
		["columns", 120, {}, "table: without 4–120; 4/121, 101, 120, 1"],
		["columns", 400, {}, "table: without 12–120; 12/121, 301, 397, 2"],
		["columns", 1200, {}, "table: without 31–61 63–114; 38/121, 982, 1178, 3"],
		["JSON", 120, {}, "json: without 0–1 14–6002 6013–6014; 0/1, 24, 63, 1"],
		[
			"JSON",
			400,
			{},
			"json: without 0–1 72–1199 1251–2085 2090–2092 2104–3912 3935–5757 5763–5765 5781–6002 6013–6014; 0/1, 196, 370, 5",
		],
		[
			"JSON",
			1200,
			{},
			"json: without 0–1 122–1095 1251–2032 2090–2092 2262–3912 3935–5678 5763–5765 6013–6014; 0/1, 861, 1147, 5",
		],
		["indented JSON", 120, {}, "json: without 1–285; 0/285, 26, 63, 1"],
		["indented JSON", 400, {}, "json: without 1–2 9–142 147–246 248–285; 11/285, 295, 370, 5"],
		["indented JSON", 1200, {}, "json: without 1–2 15–130 147–238 245–246 285; 72/285, 1497, 1147, 5"],
		["JSON Lines", 120, {}, "json: without 1–80; 0/80, 28, 108, 2"],
		["JSON Lines", 400, {}, "json: without 2–41 43–79; 3/80, 275, 359, 2"],
		["JSON Lines", 1200, {}, "json: without 5–39 44–79; 9/80, 856, 1096, 3"],
		["JSON after a line", 120, {}, "json: without 0–14 62–2080; 0/3, 48, 110, 1"],
		["JSON after a line", 400, {}, "json: without 0–14 62–1085 1241–2022 2073–2080; 0/3, 255, 360, 2"],
		["JSON after a line", 1200, {}, "json: without 0–14 412–981 1345–1918 2073–2080; 0/3, 917, 1178, 3"],
		["one long line", 120, {}, "head_tail: without 0–4160 4204–6031; 0/1, 44, 120, 1"],
		["one long line", 400, {}, "head_tail: without 0–4160 4484–6031; 0/1, 324, 400, 1"],
		["one long line", 1200, {}, "head_tail: without 320–4160 4480–5756; 0/1, 915, 1111, 3"],
		["states of a progress bar", 120, {}, "log: without 11–4088; 3/4, 56, 78, 1"],
		["states of a progress bar", 400, {}, "log: without 11–4088; 3/4, 56, 154, 2"],
		["states of a progress bar", 1200, {}, "log: without 11–4088; 3/4, 56, 232, 2"],
		["minified code", 120, {}, "binary: without 44–6480; 0/1, 44, 120, 1"],
		["minified code", 400, {}, "binary: without 120–6480; 0/1, 120, 312, 2"],
		["minified code", 1200, {}, "binary: without 120–6480; 0/1, 120, 312, 2"],
		["data", 120, {}, "binary: without 44–2705; 0/1, 44, 120, 1"],
		["data", 400, {}, "binary: without 120–2705; 0/1, 120, 310, 2"],
		["data", 1200, {}, "binary: without 120–2705; 0/1, 120, 310, 2"],
		["Base64", 120, {}, "binary: without 44–3200; 0/1, 44, 120, 1"],
		["Base64", 400, {}, "binary: without 120–3200; 0/1, 120, 310, 2"],
		["Base64", 1200, {}, "binary: without 120–3200; 0/1, 120, 310, 2"],
		["HTML", 120, {}, "html: without 0–2931; 0/1, 0, 108, 2"],
		["HTML", 400, {}, "html: without 0–2931; 0/1, 0, 376, 2"],
		["HTML", 1200, {}, "html: without 0–2931; 0/1, 0, 1187, 3"],
		["colours", 120, {}, "log: without 6–89; 6/90, 161, 119, 1"],
		["colours", 400, {}, "log: without 16–88; 17/90, 464, 389, 2"],
		["colours", 1200, {}, "log: without 52–84; 57/90, 1584, 1188, 2"],
		["emoji", 120, {}, "head_tail: without 0–2205; 0/1, 45, 66, 1"],
		["emoji", 400, {}, "head_tail: without 0–2205; 0/1, 45, 142, 2"],
		["emoji", 1200, {}, "head_tail: without 315–1890; 0/1, 675, 850, 2"],
		[
			"a log of a failure",
			900,
			{ focus: "step44 dul 41 total orders src/nul.ts c.d" },
			"log: without 2–88 100–239; 13/240, 692, 891, 3",
		],
		[
			"a program",
			900,
			{ focus: "step44 dul 41 total orders src/nul.ts c.d" },
			"focus: without 15–20 22–44 46–179; 17/180, 646, 862, 4",
		],
		[
			"a text",
			900,
			{ focus: "step44 dul 41 total orders src/nul.ts c.d" },
			"focus: without 11–118; 11/119, 702, 880, 2",
		],
		[
			"a table",
			900,
			{ focus: "step44 dul 41 total orders src/nul.ts c.d" },
			"table: without 26–147; 29/151, 698, 876, 2",
		],
		[
			"JSON",
			900,
			{ focus: "step44 dul 41 total orders src/nul.ts c.d" },
			"json: without 0–1 72–1147 1251–2032 2090–2092 2180–3912 3935–5719 5763–5765 5857–5963 6013–6014; 0/1, 530, 858, 6",
		],
		[
			"JSON Lines",
			900,
			{ focus: "step44 dul 41 total orders src/nul.ts c.d" },
			"json: without 3–39 43–79; 6/80, 566, 806, 3",
		],
		[
			"a diff",
			900,
			{ focus: "step44 dul 41 total orders src/nul.ts c.d" },
			"diff: without 21–27 29–30 32–37 39–53 55–61 63–170; 25/170, 534, 899, 7",
		],
		["HTML", 900, { focus: "step44 dul 41 total orders src/nul.ts c.d" }, "html: without 0–2931; 0/1, 0, 899, 3"],
		[
			"minified code",
			900,
			{ focus: "step44 dul 41 total orders src/nul.ts c.d" },
			"binary: without 120–6480; 0/1, 120, 312, 2",
		],
		["a run of tests", 700, { strategy: "head_tail" }, "head_tail: without 8–146; 17/156, 492, 669, 2"],
		[
			"a log without a failure",
			900,
			{ strategy: "head_tail", focus: "served 150" },
			"head_tail: without 7–235; 11/240, 657, 836, 2",
		],
		["a run of tests", 700, { strategy: "log" }, "log: without 2–89 104–152; 19/156, 498, 695, 3"],
		[
			"a log without a failure",
			900,
			{ strategy: "log", focus: "served 150" },
			"log: without 12–239; 12/240, 709, 889, 2",
		],
		["a run of tests", 700, { strategy: "diff" }, "diff: without 1–91 94–96 113–154; 20/156, 484, 699, 4"],
		[
			"a log without a failure",
			900,
			{ strategy: "diff", focus: "served 150" },
			"diff: without 13–240; 12/240, 709, 888, 2",
		],
		["a run of tests", 700, { strategy: "table" }, "table: without 8–91 96–151; 16/156, 503, 699, 3"],
		[
			"a log without a failure",
			900,
			{ strategy: "table", focus: "served 150" },
			"table: without 10–150 152–239; 11/240, 650, 851, 3",
		],
		["a run of tests", 700, { strategy: "focus" }, "focus: without 2–91 109–154; 20/156, 484, 681, 3"],
		[
			"a log without a failure",
			900,
			{ strategy: "focus", focus: "served 150" },
			"focus: without 12–239; 12/240, 709, 889, 2",
		],
		["a run of tests", 700, { strategy: "json" }, "head_tail: without 5–91 94 96–147; 16/156, 443, 658, 4"],
		[
			"a log without a failure",
			900,
			{ strategy: "json", focus: "served 150" },
			"focus: without 12–239; 12/240, 709, 889, 2",
		],
		["a run of tests", 700, { strategy: "binary" }, "binary: without 1–91 94–154; 4/156, 125, 373, 4"],
		[
			"a log without a failure",
			900,
			{ strategy: "binary", focus: "served 150" },
			"binary: without 2–240; 1/240, 58, 253, 2",
		],
		["a run of tests", 700, { strategy: "html" }, "html: without 1–156; 0/156, 0, 661, 5"],
		[
			"a log without a failure",
			900,
			{ strategy: "html", focus: "served 150" },
			"html: without 1–240; 0/240, 0, 879, 3",
		],
		["a log of a failure", 600, { hasFailed: true }, "log: without 2–89 96–239; 8/240, 386, 584, 3"],
		["a run of tests", 600, { hasFailed: true }, "log: without 2–90 101–152; 15/156, 391, 588, 3"],
		["a text", 600, { hasFailed: true }, "head_tail: without 4–117; 5/119, 349, 526, 2"],
		["data", 600, { hasFailed: true }, "binary: without 120–2705; 0/1, 120, 310, 2"],
		["one long line", 600, { hasFailed: true }, "head_tail: without 0–4160 4480–6031; 0/1, 320, 516, 3"],
		["a text", 800, { strategy: "head_tail", headShare: 0.8 }, "head_tail: without 9–118; 9/119, 561, 738, 2"],
		["a text", 800, { strategy: "head_tail", headShare: 0 }, "head_tail: without 1–110; 9/119, 562, 738, 2"],
		["a text", 800, { strategy: "head_tail", headShare: 1 }, "head_tail: without 10–119; 9/119, 563, 740, 2"],
		["a text", 2000, { ref: undefined }, "head_tail: without 16–104; 30/119, 1830, 1921, 2"],
		["a text", 300, { ref: undefined }, "head_tail: without 2–118; 2/119, 139, 230, 2"],
		["colours", 900, { keepAnsi: true }, "head_tail: without 14–77; 26/90, 716, 891, 2"],
		["JSON", 30, {}, "json: without 0–6014; 0/1, 0, 2, 0, needs 92"],
		[
			"JSON",
			3000,
			{},
			"json: without 0–1 626–991 1355–1824 2090–2092 2862–3912 3935–5378 5763–5765 6013–6014; 0/1, 2681, 2965, 5",
		],
		["indented JSON", 3000, {}, "json: without 1–2 75–118 159–214 245–246 285; 180/285, 4073, 2965, 5"],
		["JSON Lines", 40, {}, "json: without 1–80; 0/80, 0, 2, 0, needs 92"],
		["a text", 1, {}, "head_tail: without 1–119; 0/119, 1, 1, 0, needs 75"],
		["a text", 20, {}, "head_tail: without 1–119; 0/119, 20, 20, 0, needs 75"],
		["JSON", 1, {}, "json: without 0–6014; 0/1, 0, 1, 0, needs 92"],
		["JSON", 2, {}, "json: without 0–6014; 0/1, 0, 2, 0, needs 92"],
		["emoji", 33, {}, "head_tail: without 30–2250; 0/1, 30, 30, 0, needs 75"],
		["one long line", 3000, {}, "head_tail: without 960–4160 4796–5116; 0/1, 2511, 2706, 3"],
		[
			"a diff",
			3000,
			{},
			"diff: without 2–3 36–37 44–46 48–49 51–53 70–71 74–75 78–80 82–83 85–87 104–105 108–109 112–114 116–121 137–139 142–143 146–148 150–155; 119/170, 2403, 2988, 19",
		],
	])("%s in %i characters, given %j", (name, max, given, expected) => {
		const text = samples[name] as string;
		const cut = shorten(text, max, { htmlToText, ...given });
		expect(inOneLine(cut)).toBe(expected);
		expect(cut.text.length).toBeLessThanOrEqual(max);
	});

	it.each<[string, number, string]>([
		["a log of a failure", 5, "3602 → 5; log: without 1–240; 0/240, 20, 20, 0, needs 19"],
		["a log of a failure", 40, "3602 → 40; log: without 1–90 92–240; 1/240, 83, 160, 1"],
		["a log of a failure", 300, "3602 → 274; log: without 2–88 96 102–150 152–170 172–239; 16/240, 836, 1096, 6"],
		["a program", 5, "1753 → 5; head_tail: without 1–180; 0/180, 20, 20, 0, needs 19"],
		["a program", 40, "1753 → 38; head_tail: without 2–179; 2/180, 54, 149, 2"],
		["a program", 300, "1753 → 291; head_tail: without 14–167; 26/180, 983, 1161, 2"],
		["JSON", 5, "1504 → 1; json: without 0–6014; 0/1, 0, 2, 0, needs 23"],
		["JSON", 40, "1504 → 16; json: without 0–1 14–6002 6013–6014; 0/1, 24, 63, 1"],
		[
			"JSON",
			300,
			"1504 → 295; json: without 0–1 172–1199 1251–2032 2090–2092 2270–3912 3935–5675 5763–5765 6013–6014; 0/1, 818, 1180, 7",
		],
		["a diff", 5, "859 → 5; diff: without 1–170; 0/170, 20, 20, 0, needs 19"],
		["a diff", 40, "859 → 40; diff: without 3–170; 2/170, 84, 160, 1"],
		[
			"a diff",
			300,
			"859 → 300; diff: without 2 21–27 29–30 32–34 36–37 39–53 55–61 63–71 73–87 89–95 97–105 107–121 123–129 131–170; 31/170, 679, 1198, 15",
		],
		["emoji", 5, "563 → 4; head_tail: without 15–2250; 0/1, 15, 15, 0, needs 19"],
		["emoji", 40, "563 → 36; head_tail: without 0–2205; 0/1, 45, 142, 2"],
		["emoji", 300, "563 → 292; head_tail: without 630–1890; 0/1, 990, 1165, 2"],
		["data", 5, "677 → 5; binary: without 20–2705; 0/1, 20, 20, 0, needs 19"],
		["data", 40, "677 → 40; binary: without 84–2705; 0/1, 84, 160, 1"],
		["data", 300, "677 → 78; binary: without 120–2705; 0/1, 120, 310, 2"],
		["colours", 5, "628 → 5; log: without 3–90; 2/90, 53, 20, 0, needs 19"],
		["colours", 40, "628 → 36; log: without 3–89; 3/90, 80, 144, 2"],
		["colours", 300, "628 → 297; log: without 52–84; 57/90, 1584, 1188, 2"],
	])("%s in %i tokens", (name, max, expected) => {
		const cut = shorten(samples[name] as string, 0, { budget: { unit: "tokens", max, countTokens: roughCount } });
		expect(`${cut.tokens?.total} → ${cut.tokens?.after}; ${inOneLine(cut)}`).toBe(expected);
	});
});

describe("the exact excerpt", () => {
	it.each<[string, number, Given, string]>([
		[
			"a run of tests",
			500,
			{},
			"[Output shortened: 145 of 156 lines left out (4950 of 5225 characters), ref=0123456789abcdef0123456789abcdef] Intact, no error: read it with recall_original.\n> app@1.0.0 test\n[… lines 2–91 …]\n ✗ refuses an order without a price\n   AssertionError: expected 3 to be 4\n    at test/order.test.ts:12:5\n ✓ bala writes line 0\n ✓ demo writes line 1\n ✓ fine writes line 2\n ✓ goru writes line 3\n[… lines 99–153 …]\n ✓ tuti writes line 59\n Tests  1 failed | 150 passed (151)\n Duration  3.21s",
		],
		[
			"JSON",
			700,
			{},
			'{"_truncated":"[Output shortened: 5689 of 6014 characters left out, ref=0123456789abcdef0123456789abcdef] Intact, no error: read it with recall_original.","status":"ok","items":[{"id":0,"path":"src/bala.ts","size":0,"ok":true},{"_truncated":"22 of 40 items left out"},{"id":23,"path":"src/totu.ts","size":253,"ok":false},{"_truncated":"15 of 40 items left out"},{"id":39,"path":"src/guri.ts","size":429,"ok":true}],"log":"2026-03-01T10:00:00Z INFO request 0 to bala [… 1776 characters …]FATAL: out of handles\\n[… 1806 characters …]to tuti served in 5 ms","deep":{"a":{"b":{"c":["bala","demo","fine","goru",{"_truncated":"24 of 30 items left out"},"kosu","luti"]}}},"last":null}',
		],
		[
			"JSON Lines",
			500,
			{},
			'{"_truncated":"[Output shortened: 7621 of 7799 characters left out, ref=0123456789abcdef0123456789abcdef] Intact, no error: read it with recall_original."}\n{"id":0,"name":"bala","total":0,"note":"bala bala bala bala bala bala","tags":["bala","demo"]}\n{"_truncated":"40 of 80 items left out"}\n{"id":41,"name":"leto","total":287,"note":"ERROR: disk full","tags":["leto","mile"]}\n{"_truncated":"38 of 80 items left out"}',
		],
		[
			"a table",
			400,
			{ ref: undefined },
			'[Output shortened: 138 of 151 lines left out (3513 of 3798 characters)]\nid,name,total,note\n0,bala,0,"bala, demo"\n1,demo,7,"demo, fine"\n2,fine,14,"fine, goru"\n3,goru,21,"goru, kusi"\n4,kusi,28,"kusi, lata"\n5,lata,35,"lata, melo"\n6,melo,42,"melo, nime"\n7,nime,49,"nime, ponu"\n8,ponu,56,"ponu, ruri"\n9,ruri,63,"ruri, sasa"\n10,sasa,70,"sasa, teto"\n[… lines 13–150 …]\n149,luti,1043,"luti, mala"',
		],
		[
			"HTML",
			300,
			{},
			"[Output shortened: 109 of 120 lines left out (1984 of 2170 characters)]\nbala paragraph 0\ndemo paragraph 1\nfine paragraph 2\ngoru paragraph 3\nkusi paragraph 4\nlata paragraph 5\n[… lines 7–115 …]\nnama paragraph 115\npeno paragraph 116\nrire paragraph 117\nsosu paragraph 118\ntuti paragraph 119",
		],
		[
			"JSON after a line",
			500,
			{},
			'Found these:\n[{"_truncated":"[Output shortened: 1878 of 2080 characters left out, ref=0123456789abcdef0123456789abcdef] Intact, no error: read it with recall_original."},{"id":0,"path":"src/bala.ts","size":0,"ok":true},{"_truncated":"21 of 40 items left out"},{"id":22,"path":"src/sise.ts","size":242,"ok":true},{"id":23,"path":"src/totu.ts","size":253,"ok":false},{"_truncated":"15 of 40 items left out"},{"id":39,"path":"src/guri.ts","size":429,"ok":true}]\nDone.',
		],
		[
			"one long line",
			400,
			{},
			"[shortened: 5707 characters left out, ref=0123456789abcdef0123456789abcdef]\ndemo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo demo",
		],
		[
			"data",
			300,
			{},
			"[Output shortened: 2705 of 2705 characters left out, ref=0123456789abcdef0123456789abcdef] Intact, no error: read it with recall_original.\n[Binary data, not shown: 2705 characters, 1 lines]\nPNG\u0000\u0001\u0000\u0003x\u0000\u0003x\u0000\u0003x\u0000\u0003x\u0000\u0003x\u0000\u0003x\u0000\u0003x\u0000\u0003x\u0000\u0003x\u0000\u0003x\u0000\u0003x\u0000\u0003x\u0000\u0003x\u0000\u0003x\u0000\u0003x\u0000\u0003x\u0000\u0003x\u0000\u0003x\u0000\u0003x\u0000\u0003x\u0000\u0003x\u0000\u0003x\u0000\u0003x\u0000\u0003x\u0000\u0003x\u0000\u0003x\u0000\u0003x\u0000\u0003x\u0000\u0003x\u0000\u0003x\u0000\u0003x\u0000\u0003x\u0000\u0003x\u0000\u0003x\u0000\u0003x",
		],
		[
			"a diff",
			900,
			{},
			"[Output shortened: 145 of 170 lines left out (2919 of 3434 characters), ref=0123456789abcdef0123456789abcdef] Intact, no error: read it with recall_original.\ndiff --git a/src/bala.ts b/src/bala.ts\nindex 1234abc..5678def 100644\n--- a/src/bala.ts\n+++ b/src/bala.ts\n@@ -1,12 +1,14 @@ function bala()\n \tconst bala = 0;\n \tconst demo = 1;\n+\tconst fine = 2;\n-\tconst goru = 3;\n \tconst kusi = 4;\n \tconst lata = 5;\n \tconst melo = 6;\n+\tconst nime = 7;\n \tconst ponu = 8;\n \tconst ruri = 9;\n-\tconst sasa = 10;\n \tconst teto = 11;\n+\tconst bile = 12;\n \tconst domu = 13;\n@@ -41,12 +41,14 @@ function demo()\n[… lines 21–27; this file: +6 -4 …]\n+\tconst nime = 7;\n[… lines 29–30 …]\n-\tconst sasa = 10;\n[… lines 32–37 …]\n+++ b/src/demo.ts\n[… lines 39–53; this file: +6 -4 …]\n@@ -41,12 +41,14 @@ function fine()\n[… lines 55–61 …]\n+\tconst ponu = 7;\n[… lines 63–170; src/fine.ts +6 -4, src/goru.ts +6 -4, src/kusi.ts +6 -4 …]",
		],
		[
			"states of a progress bar",
			300,
			{},
			"[shortened: 4080 characters left out, ref=0123456789abcdef0123456789abcdef]\nDownloading\n[… 4076 characters …]299 of 300 kB\r\nerror: disk full\r\nExit code 1\r",
		],
	])("of %s in %i characters, given %j", (name, max, given, expected) => {
		expect(shorten(samples[name] as string, max, { htmlToText, ...given }).text).toBe(expected);
	});
});

describe("the excerpt of a stream", () => {
	it.each<[string, number, string]>([
		["a log of a failure", 60, "5390–5411; 60, 1"],
		["a log of a failure", 300, "0–58 5390–5442 14346–14406; 282, 3"],
		["a log of a failure", 1000, "0–353 5390–5481 14041–14406; 921, 3"],
		["a run of tests", 60, "3698–3720; 60, 1"],
		["a run of tests", 300, "0–56 3697–3732 5149–5224; 276, 3"],
		["a run of tests", 1000, "0–336 3697–3823 4827–5224; 970, 3"],
		["a text", 60, "0–22; 60, 1"],
		["a text", 300, "0–70 6979–7048; 230, 2"],
		["a text", 1000, "0–422 6626–7048; 935, 2"],
		["one long line", 60, "4160–4182; 60, 1"],
		["one long line", 300, "4160–4422; 300, 1"],
		["one long line", 1000, "4160–4480 5756–6031; 705, 3"],
		["states of a progress bar", 60, "4103–4125; 60, 1"],
		["states of a progress bar", 300, "0–11 4088–4133; 146, 2"],
		["states of a progress bar", 1000, "0–11 4088–4133; 146, 2"],
		["colours", 60, "0–26; 43, 1"],
		["colours", 300, "0–107 2426–2509; 278, 2"],
		["colours", 1000, "0–437 2062–2509; 973, 2"],
		["emoji", 60, "0–15; 53, 1"],
		["emoji", 300, "2205–2250; 134, 2"],
		["emoji", 1000, "0–315 1890–2250; 764, 2"],
	])("%s in %i characters", (name, max, expected) => {
		const text = samples[name] as string;
		for (const pieceChars of [50, 4_096]) {
			const {
				kept,
				notices,
				text: shown,
			} = shortenPieces(text, { unit: "chars", max }, { mostChars: 2 * max, pieceChars });
			const ranges = spans(kept.map(({ start, end }) => ({ from: start, to: end })));
			expect(`${ranges}; ${shown.length}, ${notices.length}`).toBe(expected);
		}
	});
});
