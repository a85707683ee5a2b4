import { stripVTControlCharacters } from "node:util";
import { fc, test } from "@fast-check/vitest";
import { afterAll, expect } from "vitest";
import { anyCharacter } from "../../support/any-character.ts";
import { leastOfCases, numberOfCases } from "../../support/case-divisor.ts";
import { isJson } from "../../support/is-json.ts";
import { noticesOf } from "../../support/notices-of.ts";
import { findKept, shorten, strategies } from "./shorten.ts";

const seen = {
	cut: 0,
	noticed: 0,
	gaps: 0,
	tokens: 0,
	ansi: 0,
	illFormed: 0,
	json: 0,
	html: 0,
	byStrategy: new Map<string, number>(),
};

const word = fc.constantFrom(
	"error",
	"maxRetries",
	"src/a.ts",
	"ok",
	"héllo",
	"读取",
	"👨‍👩‍👧",
	"🇫🇷",
	"e\u0301",
	"0x1f",
	"FAILED",
	"import",
	"{",
	"}",
);
const line = fc.array(word, { maxLength: 14 }).map((words) => words.join(" "));
const oddLine = fc.oneof(
	fc.constant(""),
	fc.constant("\u001b[31mred\u001b[0m text"),
	fc.constant("10%\r20%\r30%"),
	fc.integer({ min: 1, max: 2_500 }).map((length) => "x,y;".repeat(length).slice(0, length)),
	fc.integer({ min: 1, max: 400 }).map((length) => "👩‍🚀".repeat(length)),
	fc.constant("@@ -1,2 +3,4 @@"),
	fc.constant("diff --git a/b b/b"),
	fc.constant("a,b,c"),
);
const plainTexts = fc
	.tuple(
		fc.array(fc.oneof({ weight: 5, arbitrary: line }, oddLine), { minLength: 12, maxLength: 60, size: "max" }),
		fc.constantFrom("\n", "\r\n"),
	)
	.map(([lines, end]) => lines.join(end));
const oddTexts = fc.oneof(
	fc.string({ unit: anyCharacter, maxLength: 900 }),
	fc.string({ unit: "grapheme", maxLength: 900 }),
	fc
		.array(fc.constantFrom("\ud83d", "\udd8a", "\0", "a\n", "🦊"), { minLength: 100, maxLength: 500, size: "max" })
		.map((parts) => parts.join("")),
);
const jsonTexts = fc
	.tuple(
		fc.array(fc.jsonValue({ maxDepth: 4, stringUnit: "grapheme" }), { minLength: 8, maxLength: 40 }),
		fc.constantFrom(0, 1),
	)
	.map(([values, indent]) => JSON.stringify(values, null, indent));
const htmlTexts = fc
	.array(line, { minLength: 20, maxLength: 60, size: "max" })
	.map((lines) => `<!doctype html><html><body>${lines.map((one) => `<p>${one}</p>`).join("")}</body></html>`);
const texts = fc.oneof({ weight: 3, arbitrary: plainTexts }, { weight: 2, arbitrary: oddTexts }, jsonTexts, htmlTexts);
/** Stands for the library: tags go, paragraphs become lines. */
const htmlToText = (html: string) => html.replace(/<\/p>/g, "\n").replace(/<[^>]*>/g, "");
const budgets = fc.oneof(fc.integer({ min: 0, max: 80 }), fc.integer({ min: 80, max: 1_500 }));
const focuses = fc.constantFrom("", "where is maxRetries set", "读取 héllo src/a.ts");

test.prop([texts, budgets, fc.constantFrom(...strategies), focuses], { numRuns: numberOfCases(5_000) })(
	"every strategy keeps the promises of truncation",
	(text, max, strategy, focus) => {
		const cut = shorten(text, max, { strategy, focus, htmlToText });
		if (text.length <= max) {
			expect(cut).toMatchObject({ text, truncated: false });
			return;
		}
		expect(cut.text.length, "within the budget").toBeLessThanOrEqual(max);
		expect(cut.text.length, "never longer than the text").toBeLessThan(text.length);
		expect(cut.text.isWellFormed(), "well-formed").toBe(true);
		if (max > 0) expect(cut.text, "never empty").not.toBe("");
		const again = shorten(cut.text, max, { strategy, focus, htmlToText });
		expect(again.text, "shortening again changes nothing").toBe(cut.text);
		for (const notice of cut.notices) expect(cut.text).toContain(notice);
		seen.cut += 1;
		seen.noticed += cut.notices.length > 0 ? 1 : 0;
		seen.gaps += cut.notices.length > 1 ? 1 : 0;
		seen.byStrategy.set(cut.strategy, (seen.byStrategy.get(cut.strategy) ?? 0) + 1);
		// Where what is left without its colours fits, nothing has to be converted.
		if (cut.strategy === "html" && stripVTControlCharacters(text).length > max) {
			expect(cut.kept, "nothing of what was converted is called kept").toEqual([]);
			seen.html += 1;
		}
		if (cut.strategy === "json" && max >= 2 && isJson(text)) {
			expect(isJson(cut.text), "JSON stays JSON").toBe(true);
			seen.json += 1;
		}
		if (text.includes("\u001b")) seen.ansi += 1;
		else if (!text.isWellFormed()) seen.illFormed += 1;
		else if (cut.strategy !== "json") expect(findKept(text, cut), "kept parts stand in the result").toBeDefined();
		expect(cut.chars).toMatchObject({ total: text.length, after: cut.text.length });
		expect(cut.chars.kept).toBe(cut.kept.reduce((sum, { start, end }) => sum + end - start, 0));
		expect(cut.lines.kept).toBeLessThanOrEqual(cut.lines.total);
	},
);

/** A count in which a character costs between one and three, and runs cost less than their parts. */
const roughTokens = (text: string) =>
	Array.from(text.replace(/\w{4}/g, "w")).reduce((sum, one) => sum + (one > "\u2e80" ? 2 : 1), 0);

test.prop([texts, budgets, fc.constantFrom(...strategies)], { numRuns: numberOfCases(800) })(
	"a budget in tokens is kept to the token",
	(text, max, strategy) => {
		const budget = { unit: "tokens", max, countTokens: roughTokens } as const;
		const cut = shorten(text, 0, { strategy, budget });
		if (roughTokens(text) <= max) {
			expect(cut.truncated).toBe(false);
			return;
		}
		expect(roughTokens(cut.text)).toBeLessThanOrEqual(max);
		expect(cut.tokens).toEqual({ total: roughTokens(text), after: roughTokens(cut.text) });
		expect(cut.text.length).toBeLessThan(Math.max(1, text.length));
		expect(cut.text.isWellFormed()).toBe(true);
		const again = shorten(cut.text, 0, { strategy, budget });
		expect(again.text, "shortening again changes nothing").toBe(cut.text);
		if (cut.strategy === "json" && isJson(text) && max >= 2) expect(isJson(cut.text)).toBe(true);
		else if (cut.strategy !== "json" && text.isWellFormed() && !text.includes("\u001b"))
			expect(findKept(text, cut), "kept parts stand in the result").toBeDefined();
		seen.tokens += 1;
	},
);

test.prop([plainTexts, fc.integer({ min: 300, max: 900 }), fc.constantFrom("fr", "en", "zh")], {
	numRuns: numberOfCases(300),
})("the kept and the omitted parts make up the original", (text, max, locale) => {
	if (text.includes("\u001b")) return;
	const cut = shorten(text, max, { strategy: "focus", wording: noticesOf(locale) });
	const parts = [...cut.kept, ...cut.omitted].sort((a, b) => a.start - b.start);
	let at = 0;
	for (const { start, end } of parts) {
		expect(start).toBeGreaterThanOrEqual(at);
		expect(text.slice(at, start).replace(/^\r?\n$/, ""), "only line ends stand between").toBe("");
		at = end;
	}
	expect(text.slice(at).replace(/^\r?\n$/, "")).toBe("");
	if (cut.omitted.length > 0) expect(cut.omittedLines.length).toBeGreaterThan(0);
});

afterAll(() => {
	expect(seen.cut).toBeGreaterThan(leastOfCases(750));
	expect(seen.noticed).toBeGreaterThan(leastOfCases(400));
	expect(seen.gaps).toBeGreaterThan(leastOfCases(150));
	expect(seen.tokens).toBeGreaterThan(leastOfCases(150));
	expect(seen.json).toBeGreaterThan(leastOfCases(80));
	expect(seen.html).toBeGreaterThan(leastOfCases(40));
	expect(seen.ansi).toBeGreaterThan(leastOfCases(25));
	expect(seen.illFormed).toBeGreaterThan(leastOfCases(25));
	for (const strategy of ["head_tail", "log", "diff", "table", "binary", "focus"])
		expect(seen.byStrategy.get(strategy), strategy).toBeGreaterThan(leastOfCases(25));
});
