import { describe, expect, it } from "vitest";
import { readWords, wordsWithin, writeWords } from "../../../src/engine/compaction/kept-words.ts";

const about = (name: string) => `${name} `.padEnd(99, "abc ").concat(".");
const texts = [
	about("task"),
	about("older"),
	"Never push to main. ".padEnd(100, "x"),
	about("newer"),
	about("a"),
	about("b"),
	about("c"),
];
const whole = writeWords(texts, "en") ?? "";

/** The first words of the texts that have room. */
function namesWithin(mostChars: number): { names: string[]; short: number } {
	const { text, short } = wordsWithin({ texts, mostChars, locale: "en" });
	expect(text?.length ?? 0).toBeLessThanOrEqual(mostChars);
	return { names: (readWords(text ?? "")?.texts ?? []).map((one) => one.split(" ", 1)[0] ?? ""), short };
}

describe("words in a limited room", () => {
	it("are all of them, if they fit exactly", () => {
		expect(wordsWithin({ texts, mostChars: whole.length, locale: "en" })).toEqual({ text: whole, short: 0 });
		expect(wordsWithin({ texts: [], mostChars: 0, locale: "en" })).toEqual({ text: undefined, short: 0 });
	});

	it("are the first, then the last three, then one with a rule, then the newest, in their order", () => {
		const each = (whole.length - 50) / texts.length;
		const room = (count: number) => Math.ceil(50 + each * (count + 0.5));
		expect(namesWithin(room(1)).names).toEqual(["task"]);
		expect(namesWithin(room(2)).names).toEqual(["task", "c"]);
		expect(namesWithin(room(4))).toEqual({ names: ["task", "a", "b", "c"], short: 3 });
		expect(namesWithin(room(5)).names).toEqual(["task", "Never", "a", "b", "c"]);
		expect(namesWithin(room(6))).toEqual({ names: ["task", "Never", "newer", "a", "b", "c"], short: 1 });
		expect(wordsWithin({ texts, mostChars: 20, locale: "en" })).toEqual({ text: undefined, short: 7 });
	});

	it("are cut in the middle where they have no room, around a rule if that has", () => {
		const long = `${"a ".repeat(600)}\nNever push to main.\n${"b ".repeat(600)}`;
		const within = (mostChars: number) => wordsWithin({ texts: [long], mostChars, locale: "en" });
		const around = within(900);
		expect(around.short).toBe(1);
		expect(around.text).toMatch(
			/a \n\[… \d+ characters …\]\s+Never push to main\.\s+\[… \d+ characters …\]\n(?:b )+\n---$/,
		);
		const without = within((around.text?.length ?? 0) - 1).text ?? "";
		expect(without).not.toContain("Never");
		expect(without).toContain(`a \n[… ${long.length - 600} characters …]\n`);
		expect(within(300).text).toBeUndefined();
	});

	it("are as many as have room to the character, with their lines of dashes", () => {
		const five = ["one..", "two..", "three", "four.", "five."];
		const within = (mostChars: number) => {
			const { text, short } = wordsWithin({ texts: five, mostChars, locale: "en" });
			return [readWords(text ?? "")?.texts ?? [], short];
		};
		// One character more than they take: each counts with a line feed on either side of its dashes.
		const room = (...kept: readonly string[]) => (writeWords(kept, "en")?.length ?? 0) + 1;
		expect(within(room("one.."))).toEqual([["one.."], 4]);
		expect(within(room("one..") - 1)).toEqual([[], 5]);
		expect(within(room("one..", "five."))).toEqual([["one..", "five."], 3]);
		expect(within(room("one..", "five.") - 1)).toEqual([["one.."], 4]);
		expect(within(room("one..", "four.", "five."))).toEqual([["one..", "four.", "five."], 2]);
		expect(within(room("one..", "three", "four.", "five."))).toEqual([["one..", "three", "four.", "five."], 1]);
		expect(within(room("one..", "three", "four.", "five.") - 1)).toEqual([["one..", "four.", "five."], 2]);
		expect(within(room(...five) - 1)).toEqual([five, 0]);
		// A smaller one may have the room that a larger one has not.
		expect(wordsWithin({ texts: ["a".repeat(90), "b"], mostChars: room("b"), locale: "en" })).toEqual({
			text: writeWords(["b"], "en"),
			short: 1,
		});
	});

	it("with a rule come before newer ones, and dashes are longer than those in a text", () => {
		const given = ["task", "Never push.", "some words", "----", "y", "z"];
		const room = (kept: readonly string[]) => (writeWords([...kept, "----"], "en")?.length ?? 0) - 9 + 1;
		const { text } = wordsWithin({
			texts: given,
			mostChars: room(["task", "Never push.", "----", "y", "z"]),
			locale: "en",
		});
		expect(readWords(text ?? "")?.texts).toEqual(["task", "Never push.", "----", "y", "z"]);
	});

	it("are between marks that count the omitted characters, also those of an earlier mark", () => {
		const given = ["[… 40 characters …]", "older words of ten", ...texts];
		const within = (mostChars: number) => {
			const { text } = wordsWithin({ texts: given, mostChars, locale: "en", marksGaps: true });
			expect(text?.length).toBeLessThanOrEqual(Math.max(mostChars, 100));
			return readWords(text ?? "")?.texts.map((one) => (one.startsWith("[") ? one : one.split(" ", 1)[0]));
		};
		expect(within(1_000)?.slice(0, 3)).toEqual(["[… 40 characters …]", "older", "task"]);
		expect(within(780)?.slice(0, 3)).toEqual(["[… 40 characters …]", "older", "[… 100 characters …]"]);
		expect(within(560)).toEqual(["[… 40 characters …]", "older", "[… 400 characters …]", "a", "b", "c"]);
		expect(within(0)).toEqual([`[… ${40 + 18 + texts.join("").length} characters …]`]);
	});
});
