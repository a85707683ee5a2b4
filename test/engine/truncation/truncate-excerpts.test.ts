import { describe, expect, it } from "vitest";
import type { OutputTruncation, TruncateOutputParameters } from "../../../src/engine/truncation/draft.ts";
import { roughCount } from "../../support/rough-count.ts";
import { samples } from "./excerpt-samples.ts";
import { findKept, shorten, shortenPieces, strategies } from "./shorten.ts";

const htmlToText = (html: string) => html.replace(/<\/p>/g, "\n").replace(/<[^>]*>/g, "");

type Given = Partial<TruncateOutputParameters>;

/** The strategy of each sample, and what its excerpts of 400 characters or more contain. */
const expected: Readonly<Record<string, readonly [strategy: string, ...shown: string[]]>> = {
	"a log of a failure": ["log", "ERROR could not open"],
	"a log without a failure": ["log", "INFO request 0 "],
	"a program": ["head_tail", "export function"],
	"a text": ["head_tail"],
	"a diff": ["diff", "+++ b/src/", "@@"],
	"a run of tests": ["log", " ✗ refuses an order without a price", "AssertionError", " 1 failed | 150 passed"],
	"a table": ["table", "id,name,total,note"],
	columns: ["table", "NAME        STATUS    AGE"],
	JSON: ["json", '"id":23', "FATAL: out of handles"],
	"indented JSON": ["json", "FATAL: out of handles"],
	"JSON Lines": ["json", "ERROR: disk full"],
	"JSON after a line": ["json", '"path":'],
	"one long line": ["head_tail", "error: no space left on device"],
	"states of a progress bar": ["log", "error: disk full", "299 of 300"],
	"minified code": ["binary", "[Minified code, not shown: "],
	data: ["binary", "[Binary data, not shown: "],
	Base64: ["binary", "[Base64 data, not shown: "],
	HTML: ["html", " paragraph 0"],
	colours: ["log", " 0 is fine"],
	emoji: ["head_tail", "🦊"],
};

/** The kept and the omitted ranges are the text, and the kept ones are shown in order. */
function checkRanges(text: string, cut: OutputTruncation): void {
	const all = [...cut.kept, ...cut.omitted].sort((a, b) => a.start - b.start || a.end - b.end);
	for (const [index, { start }] of all.entries()) expect(start).toBeGreaterThanOrEqual(all[index - 1]?.end ?? 0);
	expect(cut.chars).toMatchObject({ total: text.length, after: cut.text.length });
	const gone = cut.omittedLines.reduce((sum, { from, to }) => sum + to - from + 1, 0);
	expect(cut.lines.kept + gone).toBe(cut.lines.total);
	if (!text.includes("\u001b") && !cut.strategy.startsWith("json")) expect(findKept(text, cut)).toBeDefined();
}

describe("the excerpt of an output", () => {
	it("has samples of each shape", () => {
		expect(Object.keys(expected)).toEqual(Object.keys(samples));
	});

	it.each(Object.keys(samples))("%s keeps what matters within any room", (name) => {
		const text = samples[name] as string;
		const [strategy, ...shown] = expected[name] ?? [];
		for (const max of [0, 1, 2, 20, 33, 120, 400, 900, 1_200, 2_000]) {
			const cut = shorten(text, max, { htmlToText });
			expect(cut.text.length, `${max}`).toBeLessThanOrEqual(max);
			expect(cut.strategy).toBe(strategy);
			checkRanges(text, cut);
			if (max >= 400) for (const part of shown) expect(cut.text, `${max}`).toContain(part);
			if (cut.leastBudget === undefined) continue;
			const enough = shorten(text, cut.leastBudget, { htmlToText });
			expect(enough.leastBudget).toBeUndefined();
			expect(enough.notices).not.toEqual([]);
		}
	});

	it.each(Object.keys(samples))("%s fits by any strategy, focus and share, also after a failure", (name) => {
		const text = samples[name] as string;
		const ways: readonly Given[] = [
			...strategies.map((strategy) => ({ strategy })),
			...strategies.map((strategy) => ({ strategy, focus: "served 150 step44 total orders src/nul.ts c.d" })),
			...[0, 0.8, 1].map((headShare) => ({ strategy: "head_tail", headShare }) as const),
			...[{ hasFailed: true }, { ref: undefined }, { keepAnsi: true }],
		];
		for (const given of ways) {
			const cut = shorten(text, 700, { htmlToText, ...given });
			expect(cut.text.length, JSON.stringify(given)).toBeLessThanOrEqual(700);
			expect(cut.chars.kept, JSON.stringify(given)).toBeGreaterThanOrEqual(cut.strategy === "html" ? 0 : 12);
			checkRanges(text, cut);
		}
	});

	it.each(Object.keys(samples))("%s fits a number of tokens, and fills most of it", (name) => {
		const text = samples[name] as string;
		for (const max of [5, 40, 300]) {
			const cut = shorten(text, 0, { htmlToText, budget: { unit: "tokens", max, countTokens: roughCount } });
			expect(cut.tokens).toEqual({ total: roughCount(text), after: roughCount(cut.text) });
			expect(cut.tokens?.after).toBeLessThanOrEqual(max);
			if (max === 300 && !["binary", "log"].includes(cut.strategy)) expect(cut.tokens?.after).toBeGreaterThan(240);
		}
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
			"a diff",
			900,
			{},
			"[Output shortened: 145 of 170 lines left out (2919 of 3434 characters), ref=0123456789abcdef0123456789abcdef] Intact, no error: read it with recall_original.\ndiff --git a/src/bala.ts b/src/bala.ts\nindex 1234abc..5678def 100644\n--- a/src/bala.ts\n+++ b/src/bala.ts\n@@ -1,12 +1,14 @@ function bala()\n \tconst bala = 0;\n \tconst demo = 1;\n+\tconst fine = 2;\n-\tconst goru = 3;\n \tconst kusi = 4;\n \tconst lata = 5;\n \tconst melo = 6;\n+\tconst nime = 7;\n \tconst ponu = 8;\n \tconst ruri = 9;\n-\tconst sasa = 10;\n \tconst teto = 11;\n+\tconst bile = 12;\n \tconst domu = 13;\n@@ -41,12 +41,14 @@ function demo()\n[… lines 21–27; this file: +6 -4 …]\n+\tconst nime = 7;\n[… lines 29–30 …]\n-\tconst sasa = 10;\n[… lines 32–37 …]\n+++ b/src/demo.ts\n[… lines 39–53; this file: +6 -4 …]\n@@ -41,12 +41,14 @@ function fine()\n[… lines 55–61 …]\n+\tconst ponu = 7;\n[… lines 63–170; src/fine.ts +6 -4, src/goru.ts +6 -4, src/kusi.ts +6 -4 …]",
		],
	])("of %s in %i characters, given %j", (name, max, given, expected) => {
		expect(shorten(samples[name] as string, max, { htmlToText, ...given }).text).toBe(expected);
	});
});

describe("the excerpt of a stream", () => {
	const ofLines = ["a log of a failure", "a run of tests", "a text", "one long line", "states of a progress bar"];

	it.each([...ofLines, "colours", "emoji"])("%s is the same whatever the pieces, and keeps what matters", (name) => {
		const text = samples[name] as string;
		const [, ...shown] = expected[name] ?? [];
		for (const max of [60, 300, 1_000]) {
			const cuts = [50, 4_096].map((pieceChars) => {
				return shortenPieces(text, { unit: "chars", max }, { mostChars: 2 * max, pieceChars });
			});
			const [{ text: excerpt = "", kept = [] } = {}, other] = cuts;
			expect(other).toEqual(cuts[0]);
			expect(excerpt.length).toBeLessThanOrEqual(max);
			expect(kept.length).toBeGreaterThan(0);
			const failures = shown.filter((part) => /error/i.test(part) && part !== "AssertionError");
			if (max >= 300) for (const part of failures) expect(excerpt).toContain(part);
		}
	});
});
