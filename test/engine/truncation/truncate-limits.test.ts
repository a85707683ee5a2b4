import { describe, expect, it } from "vitest";
import type { TruncateOutputParameters } from "../../../src/engine/truncation/draft.ts";
import { noticesOf } from "../../support/notices-of.ts";
import { shorten } from "./shorten.ts";

const wording = {
	...noticesOf("en"),
	notice: "[{omitted_lines}]",
	whole: "[{omitted_chars} of {total_chars}]",
	wholeArchived: "[{omitted_chars} of {total_chars}, {ref}]",
	short: "<{omitted_chars}>",
	shortArchived: "<{omitted_chars}, {ref}>",
	html: "H{total_chars}",
	htmlArchived: "H{total_chars}, {ref}",
	gap: "…",
	folded: "≈",
};
const bare = (text: string, max: number, given: Partial<TruncateOutputParameters> = {}) =>
	shorten(text, max, { wording, ref: undefined, ...given });
const times = (count: number, line: string | ((index: number) => string)) =>
	Array.from({ length: count }, (_, index) => (typeof line === "string" ? line : line(index)));
const countOf = (text: string, part: string) => text.split(part).length - 1;

describe("a text within the budget", () => {
	it("stays", () => {
		expect(bare("a\nbc\n", 5)).toEqual({
			text: "a\nbc\n",
			truncated: false,
			strategy: "head_tail",
			kept: [{ start: 0, end: 5 }],
			omitted: [],
			omittedLines: [],
			lines: { total: 2, kept: 2 },
			chars: { total: 5, kept: 5, after: 5 },
			notices: [],
		});
		expect(bare("a", 1, { strategy: "json" }).strategy).toBe("json");
		expect(bare("", 0)).toMatchObject({ text: "", truncated: false, kept: [], lines: { total: 0, kept: 0 } });
	});

	it("loses nothing but its escape sequences if it fits without them", () => {
		const text = "\u001b[1mab\u001b[0m\nc";
		expect(bare(text, 4)).toMatchObject({ text: "ab\nc", truncated: true, notices: [], omitted: [] });
		expect(bare(text, 4).kept).toEqual([{ start: 0, end: text.length }]);
		expect(bare(text, 4)).not.toHaveProperty("leastBudget");
	});

	it("needs room for its text without escape sequences, if no notice is shorter", () => {
		expect(shorten("\u001b[1mabcdefgh\u001b[0m", 5)).toMatchObject({ leastBudget: 8 });
		expect(shorten("abcdefgh", 5)).toMatchObject({ leastBudget: 8 });
	});

	it("needs no room for a notice that is longer than the text", () => {
		const countTokens = (text: string) => (text.startsWith("[") ? 1 : 50);
		const notice = (chars: number) => `[shortened: ${chars} characters left out]`.length;
		for (const length of [12, notice(36)]) {
			const budget = { unit: "tokens", max: 0, countTokens } as const;
			expect(shorten("x".repeat(length), 0, { budget, ref: undefined }), `${length}`).toMatchObject({
				leastBudget: 50,
			});
		}
	});

	it("stays whole if it fits without its lone surrogates", () => {
		const countTokens = (one: string) => (one.isWellFormed() ? one.length : 99);
		const cut = bare("ab\ud83dcd", 0, { budget: { unit: "tokens", max: 5, countTokens } });
		expect(cut).toMatchObject({ text: "ab\ufffdcd", kept: [{ start: 0, end: 5 }], notices: [] });
		expect(cut.tokens).toEqual({ total: 99, after: 5 });
	});

	it("has no kept ranges if its line feeds are lost with escape sequences", () => {
		const stripAnsi = (text: string) => text.replaceAll("\u001b[K\n", "");
		expect(bare("a\u001b[K\nb", 2, { stripAnsi })).toMatchObject({ text: "ab", kept: [] });
	});
});

describe("a text of nothing but escape sequences", () => {
	const text = "\u001b[0m".repeat(5);

	it("becomes the notice, or an ellipsis, or nothing", () => {
		expect(bare(text, 4)).toMatchObject({ text: "<20>", strategy: "binary", kept: [], notices: ["<20>"] });
		expect(bare(text, 4)).not.toHaveProperty("leastBudget");
		expect(bare(text, 3)).toMatchObject({ text: "…", kept: [], notices: ["…"], leastBudget: 4 });
		expect(bare(text, 1)).toMatchObject({ text: "…", notices: ["…"] });
		expect(bare(text, 0)).toMatchObject({ text: "", kept: [], notices: [] });
	});

	it("becomes no notice that is as long as it", () => {
		const countTokens = (one: string) => (one.startsWith("\u001b") ? one.length : 1);
		const inTokens = (length: number) =>
			bare("\u001b".repeat(length), 0, { budget: { unit: "tokens", max: 2, countTokens }, stripAnsi: () => "" }).text;
		expect([inTokens(4), inTokens(3)]).toEqual(["<4>", "…"]);
	});
});

describe("JSON in very little room", () => {
	const longest = '"_truncated":"<100>"';
	const filled = (opening: string, closing: string) => opening.padEnd(100 - closing.length, "x") + closing;

	it("is an object, a list or a string with the notice, or an empty one", () => {
		for (const text of [filled('{"a":"', '"}'), filled(' {"a":"', '"}')]) {
			expect(bare(text, longest.length + 2)).toMatchObject({ text: `{${longest}}`, notices: ["<100>"] });
			expect(bare(text, longest.length + 1)).toMatchObject({ text: "{}", leastBudget: longest.length + 2 });
		}
		for (const text of [filled('[{"a":"', '"}]'), filled(' [{"a":"', '"}]')]) {
			expect(bare(text, longest.length + 4).text).toBe(`[{${longest}}]`);
			expect(bare(text, longest.length + 3)).toMatchObject({ text: '["<100>"]', notices: ["<100>"] });
			expect(bare(text, 9).text).toBe('["<100>"]');
			expect(bare(text, 8)).toMatchObject({ text: "[]", leastBudget: 9 });
		}
		expect(bare(filled('"[{', '"'), 7).text).toBe('"<100>"');
		expect(bare(filled('"[{', '"'), 6)).toMatchObject({ text: '""', leastBudget: 7 });
	});
});

describe("the strategy", () => {
	const json = JSON.stringify(times(60, (index) => `item ${index}`));
	const strategyOf = (text: string, given: Partial<TruncateOutputParameters> = {}) => bare(text, 150, given).strategy;
	const mixed = "ABCDEFGHIJKLMabcdefghijklm0123456789";
	const minified = "function handle(b){return c.d(b,function(){e.f=g})};".repeat(70);

	it("is that of the shape, unless one is named", () => {
		expect([json, `  ${json}`, `${json}\n[1]\n`, `Found:\n${json}`].map((text) => strategyOf(text))).toEqual(
			times(4, "json"),
		);
		expect(["head_tail", "focus", "table", "log"].map((strategy) => strategyOf(json, { strategy } as Given))).toEqual([
			...["head_tail", "focus", "table", "log"],
		]);
		expect(strategyOf("words of it\n".repeat(40), { strategy: "json" })).toBe("head_tail");
		expect(strategyOf("words of it\n".repeat(40), { strategy: "json", focus: "else" })).toBe("focus");
	});

	it("shortens JSON Lines to JSON Lines", () => {
		const lines = bare(times(40, (index) => `{"id":${index}}`).join("\n"), 150).text.split("\n");
		expect(lines.length).toBeGreaterThan(4);
		for (const line of lines) expect(() => JSON.parse(line)).not.toThrow();
	});

	it("describes data by its kind", () => {
		expect(bare(mixed.repeat(40), 300).text).toContain("[Base64 data, not shown: 1440 characters, 1 lines]");
		expect(bare(minified, 300).text).toContain("[Minified code, not shown: ");
		expect(bare("\0a".repeat(300), 300).text).toContain("[Binary data, not shown: ");
		expect(bare("words of it ".repeat(90), 300, { strategy: "binary" }).text).toContain("[Binary data, not shown: ");
		expect(bare(minified, 300).notices[0]).toBe(`[${minified.length} of ${minified.length}]`);
		expect(bare(minified, 300, { ref: "abc" }).notices[0]).toBe(`[${minified.length} of ${minified.length}, abc]`);
	});

	it("reads minified code for a focus that names a word of it", () => {
		const focuses = ["handle", "HANDLE it", "else handle", "hand", "fun", "callHandle", "other", "nothing else"];
		expect(focuses.map((focus) => strategyOf(minified, { focus }))).toEqual([
			...["focus", "focus", "focus", "focus", "binary", "binary", "binary", "binary"],
		]);
		expect(strategyOf(minified.toUpperCase(), { focus: "handle" })).toBe("focus");
	});

	it("is that of lines for HTML that is not converted", () => {
		const html = `<html>${"<p>words of it</p>\n".repeat(40)}`;
		const throws = () => {
			throw new Error("too deep");
		};
		expect([undefined, () => " \n", throws].map((htmlToText) => strategyOf(html, { htmlToText }))).toEqual([
			...["head_tail", "head_tail", "head_tail"],
		]);
		expect(strategyOf(html, { htmlToText: () => "words" })).toBe("html");
		expect(strategyOf(html, { focus: "else" })).toBe("focus");
	});
});

type Given = Partial<TruncateOutputParameters>;

describe("HTML as text", () => {
	const html = `<html>${"x".repeat(94)}`;
	const converted = (text: string, max: number, given: Given = {}) =>
		bare(html, max, { htmlToText: () => text, ...given });

	it("is below its label if that takes a third of the room", () => {
		expect(converted("abcdefghij", 15)).toMatchObject({ text: "H100\nabcdefghij", notices: ["H100"], kept: [] });
		expect(converted("abcdefghij", 99, { ref: "abc" }).text).toBe("H100, abc\nabcdefghij");
		expect(converted("abcdefghijk", 15)).toMatchObject({
			text: "H100\n<6>\nabcde",
			notices: ["H100", "<6>"],
			kept: [],
		});
	});

	it("is below the short notice otherwise, or shortened", () => {
		expect(converted("abcdefghi", 14)).toMatchObject({ text: "<91>\nabcdefghi", notices: ["<91>"], kept: [] });
		expect(converted("abcdefghi", 13)).toMatchObject({ text: "<5>\nabcd", notices: ["<5>"], kept: [] });
		expect(converted("abcdefghij", 14).text).toBe("<6>\nabcd");
	});

	it("is cut like other text", () => {
		const lines = times(9, (index) => `line ${index}`);
		expect(converted(lines.join("\n"), 50).text).toBe("H100\n[5]\nline 0\nline 1\n…\nline 7\nline 8");
	});
});

describe("the room of failures", () => {
	const letter = (index: number) => String.fromCharCode(97 + (index % 26));
	const errors = times(26, (index) => `ERROR: ${letter(index)} full`);
	const errorsIn = (before: string, given: Given = {}) => {
		const text = [...times(30, before), ...errors, ...times(30, before)].join("\n");
		return countOf(bare(text, 300, { strategy: "json", ...given }).text, "ERROR");
	};

	it("is larger after a command that failed, and smaller in a text that was written", () => {
		const kept = [errorsIn("words of it"), errorsIn("- item"), errorsIn("- item", { strategy: "head_tail" })];
		// Of 297 characters, a half and a quarter; a failure takes 14, and two characters more for a gap.
		expect(kept).toEqual([10, 4, 0]);
		const failed = [errorsIn("words of it", { hasFailed: true }), errorsIn("- item", { hasFailed: true })];
		expect(failed).toEqual([12, 12]);
	});

	it("is most of a log, which is short otherwise", () => {
		const passing = times(400, (index) => `10:00:00 step ${letter(index)}${letter(index / 26)} is done, as it seems`);
		const charsOf = (max: number, lines: readonly string[], given: Given = {}) =>
			bare(lines.join("\n"), max, { strategy: "log", ...given }).text.length;
		const failing = [...passing, "FATAL: full"];
		// A quarter of the room, and 1 500 characters at least.
		const lengths = [8_000, 4_000, 1_000].map((max) => charsOf(max, passing));
		expect(lengths.map((length) => Math.ceil(length / 100))).toEqual([20, 15, 10]);
		expect(charsOf(8_000, failing)).toBeGreaterThan(7_900);
		expect(charsOf(8_000, passing, { hasFailed: true })).toBeGreaterThan(7_900);
	});
});

describe("the headers of a diff", () => {
	const letters = times(30, (index) => `${String.fromCharCode(65 + (index % 26))}${"x".repeat(index % 7)}`);
	const hunk = (file: number, at: number) => [
		`@@ -${at} +${at} @@`,
		...times(30, (index) => `+const value${letters[index]} = compute${letters[file]}(${at});`),
	];
	const diff = times(4, (file) =>
		[`diff --git a/${file} b/${file}`, ...hunk(file, 1), ...hunk(file, 90)].join("\n"),
	).join("\n");

	it("name all files, in marks or in lines, if that takes at most half of the room", () => {
		const named = (max: number) => bare(diff, max).text.match(/(?:this file:|[;,] \d) \+60 -0/g)?.length ?? 0;
		expect([2_000, 480].map(named)).toEqual([4, 4]);
		expect(named(130)).toBeLessThan(4);
	});

	it("are kept above the lines that are shown", () => {
		for (const max of [480, 300, 200]) {
			const { text } = bare(diff, max);
			expect(countOf(text, "diff --git")).toBeGreaterThan(0);
			if (text.includes("+const")) expect(text).toMatch(/@@ -\d+ \+\d+ @@\n(?:\[.*\n)?\+const/);
		}
	});
});

describe("JSON between texts", () => {
	const json = JSON.stringify(times(60, (index) => `item ${index}`));
	const around = (before: string, behind: string, max: number, given: Given = {}) =>
		bare(`${before}\n${json}\n${behind}`, max, given);

	it("is shortened between them if they take up to half of the room", () => {
		for (const [before, behind] of [
			["x".repeat(99), "y".repeat(99)],
			["x".repeat(198), ""],
			["", "y".repeat(198)],
		] as const) {
			const cut = around(before, behind, 400);
			expect(cut.text.startsWith(`${before}\n[`) && cut.text.endsWith(`]\n${behind}`)).toBe(true);
			expect(cut.kept.map(({ start, end }) => `${start - before.length}-${end - before.length}`)).toEqual([
				...["2-82", "552-591"],
			]);
			expect(Array.isArray(JSON.parse(around(before, behind, 399).text))).toBe(true);
		}
	});

	it("is shortened as text if they take more and report a failure", () => {
		const long = `${"x".repeat(198)}\n`;
		expect(around(`${long}ERROR: full`, "", 300).text).toBe(`[1]\n${long}ERROR: full\n…`);
		expect(around("", `${long}ERROR: full`, 300).text).toBe(`[1]\n\n…\n${long}ERROR: full`);
		expect(Array.isArray(JSON.parse(around(long, "", 300).text))).toBe(true);
	});
});

describe("failures in data", () => {
	const dark = "\0\u0001".repeat(300);
	const shown = (line: string, max = 300) => bare(`${dark}\n${line}\n${dark}`, max).text;

	it("are shown below the description if their lines are readable", () => {
		const description = "[Binary data, not shown: 1218 characters, 3 lines]";
		expect(shown("ERROR: disk full")).toBe(`${description}\n[2]\n…\nERROR: disk full\n…`);
		const others = ["ERROR: \u0001 full", "✗ é é", "all is well", `ERROR: full ${"x".repeat(1_200)}`];
		for (const line of [...others, "words\rERROR: full\rwords", "ERROR: full\rwords", "words\rERROR: full"])
			expect(shown(line), line).toMatch(/^\[(\d+) of \1\]\n\[Binary data/);
	});
});

describe("JSON in a text", () => {
	const json = JSON.stringify(Array.from({ length: 40 }, (_, id) => ({ id, name: `item ${id}` })));
	const words = Array.from({ length: 20 }, (_, index) => `word ${index} of it`).join("\n");
	const cut = (before: string, behind: string) => shorten(`${before}\n${json}\n${behind}`, 500).text;

	it("is shown without the text around it if that takes half of the room", () => {
		for (const text of [cut(words, ""), cut("", words)]) {
			expect(JSON.parse(text)[1]).toEqual({ id: 0, name: "item 0" });
			expect(text).not.toContain("word");
		}
	});

	it("is shown as text if a failure is before it or after it", () => {
		for (const text of [cut(`ERROR: full\n${words}`, ""), cut("", `${words}\nERROR: full`)])
			expect(text).toContain("\nERROR: full");
	});
});

describe("a page in HTML", () => {
	const paragraphs = Array.from(
		{ length: 200 },
		(_, index) => `paragraph ${index} of ${index === 150 ? "wood" : "hay"}`,
	);
	const html = `<html><body>${paragraphs.map((text) => `<p>${text}</p>`).join("")}</body></html>`;

	it("shows the lines that its text alone would show, for a focus", () => {
		const { text } = shorten(html, 1_500, { htmlToText: () => paragraphs.join("\n"), focus: "wood" });
		const label = text.slice(0, text.indexOf("\n") + 1);
		const alone = { strategy: "focus", focus: "wood", ref: undefined } as const;
		expect(text.slice(label.length)).toBe(shorten(paragraphs.join("\n"), 1_500 - label.length, alone).text);
		expect(text).toContain("\nparagraph 150 of wood\n");
	});
});
