import { describe, expect, it } from "vitest";
import {
	keepWithin,
	markWhole,
	pinnedWords,
	readWords,
	writeWords,
} from "../../../src/engine/compaction/kept-words.ts";
import { localeNames } from "../../../src/engine/policy/names.ts";

const countTokens = (text: string) => text.length;

/** What is left of a text that may be cut. */
function cutOf(text: string, locale: (typeof localeNames)[number] = "en"): string {
	const { texts, cut } = keepWithin({ texts: [{ text, isWhole: false }], most: 0, countTokens, locale });
	expect(texts.length).toBe(1);
	expect(cut).toBe(texts[0] === text ? 0 : 1);
	return texts[0] ?? "";
}

const mark = (chars: number) => `\n[… ${chars} characters …]\n`;

it("the first text and the last three are never cut", () => {
	const wholes = (count: number) => markWhole(Array.from({ length: count }, () => "x")).map(({ isWhole }) => isWhole);
	expect(wholes(0)).toEqual([]);
	expect(wholes(4)).toEqual([true, true, true, true]);
	expect(wholes(6)).toEqual([true, false, false, true, true, true]);
	expect(markWhole(["a"])).toEqual([{ text: "a", isWhole: true }]);
});

describe("texts in a limited number of tokens", () => {
	const long = "x".repeat(1_000);
	const short = `${"x".repeat(400)}${mark(400)}${"x".repeat(200)}`;
	const texts = markWhole([long, long, long, "tiny", long, long, "end"]);
	const within = (most: number) => keepWithin({ texts, most, countTokens, locale: "en" });
	const total = texts.reduce((sum, { text }) => sum + text.length, 0);

	it("are cut from the oldest on, and only until they fit", () => {
		expect(within(total)).toEqual({ texts: texts.map(({ text }) => text), cut: 0 });
		expect(within(total - 1)).toEqual({ texts: [long, short, long, "tiny", long, long, "end"], cut: 1 });
		const saved = long.length - short.length;
		expect(within(total - saved).cut).toBe(1);
		expect(within(total - saved - 1)).toEqual({ texts: [long, short, short, "tiny", long, long, "end"], cut: 2 });
		expect(within(0)).toEqual({ texts: [long, short, short, "tiny", long, long, "end"], cut: 2 });
	});
});

describe("a text that is cut", () => {
	const text = (length: number) =>
		Array.from({ length }, (_, index) => String.fromCharCode(97 + (index % 26))).join("");

	it("keeps 400 characters of its head and 200 of its tail, and says how many are left out", () => {
		const whole = text(1_000);
		expect(cutOf(whole)).toBe(`${whole.slice(0, 400)}${mark(400)}${whole.slice(-200)}`);
		expect(cutOf(whole, "fr")).toContain("\n[… 400 caractères …]\n");
		expect(cutOf(whole, "zh")).toContain("\n[… 400 个字符 …]\n");
	});

	it("keeps gaps of fewer than 60 characters", () => {
		for (const length of [0, 1, 200, 400, 401, 600, 601, 659]) expect(cutOf(text(length))).toBe(text(length));
		expect(cutOf(text(660))).toBe(`${text(660).slice(0, 400)}${mark(60)}${text(660).slice(-200)}`);
	});

	it("keeps rules, with the gap before and after each", () => {
		const filler = (name: string, length: number) => `${`${name} `.repeat(length).slice(0, length - 1)}\n`;
		const rules = ["Never push to main.", "Always lint."];
		const [a, b, c] = [filler("a", 600), filler("b", 50), filler("c", 600)];
		const whole = `${a}${rules[0]}\n${b}${rules[1]}\n${c}`;
		expect(cutOf(whole)).toBe(`${a.slice(0, 400)}${mark(200)}${rules[0]}\n${b}${rules[1]}${mark(401)}${c.slice(-200)}`);
	});

	it("keeps a rule in its head or its tail once", () => {
		const rule = "Never push to main.\n";
		const early = `${rule}${"a ".repeat(500)}`;
		expect(cutOf(early)).toBe(`${early.slice(0, 400)}${mark(early.length - 600)}${early.slice(-200)}`);
		const late = `${"a ".repeat(500)}\n${rule}`;
		expect(cutOf(late)).toBe(`${late.slice(0, 400)}${mark(late.length - 600)}${late.slice(-200)}`);
		const across = `${"a".repeat(390)}\n${rule}${"b".repeat(700)}`;
		expect(cutOf(across)).toBe(`${across.slice(0, 410)}${mark(across.length - 610)}${across.slice(-200)}`);
	});

	it("never parts a pair of surrogates", () => {
		const pairs = "😀".repeat(600);
		for (const before of ["", "x"]) {
			const cut = cutOf(`${before}${pairs}${before}`);
			expect(cut.isWellFormed()).toBe(true);
			expect(cut.length).toBeLessThan(700);
			expect(cut).toContain(before === "" ? mark(600) : mark(602));
		}
	});

	it("may be pinned as a whole, with its rules, or by its rules alone", () => {
		const words = [
			{ text: "Task. \nNever push.", isWhole: true },
			{ text: "Go on.\nAlways lint.\nOnly read.", isWhole: false },
			{ text: "Thanks.", isWhole: false },
		];
		expect(pinnedWords(words)).toEqual(["Task. \nNever push.", "Never push.", "Always lint.", "Only read."]);
	});
});

describe("words between lines of dashes", () => {
	it.each(localeNames)("are read back (%s)", (locale) => {
		const texts = ["Task.\n---\nwith a line", "- - -", "----", "end\n"];
		const words = writeWords(texts, locale) ?? "";
		expect(words).toContain("\n-----\n");
		expect(readWords(words)).toEqual({ at: 0, texts });
		expect(readWords(`A summary.\n\n${words}\n \n`)).toEqual({ at: 12, texts });
		expect(readWords(`x${words}`)).toBeUndefined();
		expect(readWords(`${words}\nmore`)).toBeUndefined();
		expect(readWords(words.replace(/-$/, ""))).toBeUndefined();
	});

	it("are the last ones, if there are several", () => {
		const [french, english] = [writeWords(["un"], "fr") ?? "", writeWords(["one"], "en") ?? ""];
		expect(readWords(`${french}\n\n${english}`)).toEqual({ at: french.length + 2, texts: ["one"] });
		expect(readWords(`${english}\n\n${french}`)).toEqual({ at: english.length + 2, texts: ["un"] });
		expect(readWords(`${english}\n\n${english}`)).toEqual({ at: english.length + 2, texts: ["one"] });
	});

	it("need three dashes and a heading", () => {
		expect(readWords("What the user wrote, word for word, oldest first:\n--\na\n--")).toBeUndefined();
		expect(readWords("What the user wrote, word for word, oldest first:\n---\na\n---")).toEqual({
			at: 0,
			texts: ["a"],
		});
		expect(readWords("a\n---\nb\n---")).toBeUndefined();
		expect(readWords("")).toBeUndefined();
		expect(writeWords([], "en")).toBeUndefined();
		expect(writeWords(["a", "b"], "en")).toBe("What the user wrote, word for word, oldest first:\n---\na\n---\nb\n---");
	});
});
