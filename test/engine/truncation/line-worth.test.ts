import { describe, expect, it } from "vitest";
import { focusWords } from "../../../src/engine/truncation/focus.ts";
import { endShares, scoreLines, scoreTable } from "../../../src/engine/truncation/line-worth.ts";
import { lineFeatures, textUnits } from "../../../src/engine/truncation/lines.ts";

function worthOf(lines: readonly string[], { focus = "", isEven = false } = {}): number[] {
	const units = textUnits(lines.join("\n"));
	return Array.from(scoreLines(units, lineFeatures(units, focusWords(focus)), { isEven }));
}

function worthInTable(rows: readonly string[], focus?: string): number[] {
	const units = textUnits(rows.join("\n"));
	return Array.from(scoreTable(units, focus === undefined ? undefined : lineFeatures(units, focusWords(focus))));
}

/** The worth of two lines among the same others, at places that do not count. */
function compared(first: string, second: string, focus = ""): [number, number] {
	const filler = Array.from({ length: 6 }, (_, index) => `filler of the text, number ${index}, without a name`);
	const worth = worthOf([...filler, first, second, ...filler], { focus, isEven: true });
	return [worth[6] as number, worth[7] as number];
}

describe("the worth of a line", () => {
	it.each([
		["a new name is worth more", "the value of loadUserTable is here", "the value of something is here"],
		["a line that acts is worth more", "result = fetch(one)", "result of fetch one"],
		["an indented line is worth more", "\t\t\t\tthe inner line of texts", "the outer line of a text"],
		["a first line is worth more than its repetition", "the same line again", "the same line again"],
		["a line of 20 characters or more is worth more", "a line of some length", "a line of"],
	])("%s", (_, better, worse) => {
		const [first, second] = compared(better, worse);
		expect(first).toBeGreaterThan(second);
	});

	it("rises with the words of the focus", () => {
		const [without, withFocus] = compared("a plain line about tables", "a plain line about orders", "orders");
		expect(withFocus).toBeGreaterThan(without);
	});

	it("is 0 for brackets and blanks, else over 0 and at most 1", () => {
		expect(worthOf(["}", "", ")"])).toEqual([0, 0, 0]);
		const worth = worthOf(["import { a } from 'b';", "}", "call();", "words of a line"]);
		expect(worth[1]).toBe(0);
		expect(Math.max(...worth)).toBe(1);
		expect(worth.filter((one) => one > 0)).toHaveLength(3);
	});

	it("falls towards the end of a text, but not if it is even", () => {
		const long = Array.from({ length: 5 }, (_, index) => `${String.fromCharCode(97 + index)}${" word".repeat(150)}`);
		const falling = worthOf(long);
		expect(falling).toEqual(falling.toSorted((a, b) => b - a));
		expect(new Set(falling).size).toBe(5);
		expect(new Set(worthOf(long, { isEven: true })).size).toBe(1);
	});

	it("is raised around a whole name of the focus, within the text", () => {
		const worth = worthOf(["fooBar", "b", "}", "d", "e", "fooBar"], { focus: "fooBar" });
		expect(worth).toHaveLength(6);
		expect(worth.map((one) => one >= 0.25)).toEqual([true, true, false, true, true, true]);
	});
});

it("the start of a text gets more of more room, up to two fifths", () => {
	const shares = [600, 4_000, 20_400, 60_000].map(endShares.head);
	expect(shares).toEqual(shares.toSorted((a, b) => a - b));
	expect(shares.slice(2)).toEqual([0.4, 0.4]);
	expect(shares[0]).toBeLessThan(0.1);
});

describe("the worth of a table's rows", () => {
	const rows = ["name,size", ...Array.from({ length: 40 }, (_, index) => `file${index},${index}`)];

	it("is highest for the header and falls from both edges to the middle", () => {
		const [header = 0, ...worth] = worthInTable(rows);
		expect(header).toBeGreaterThan(100 * Math.max(...worth));
		expect(worth[0]).toBeGreaterThan(worth[20] as number);
		expect(worth.at(-1)).toBeGreaterThan(worth[30] as number);
	});

	it("rises with the words of the focus that a row has", () => {
		const worth = worthInTable(["a,b", "xx,2", "3,yyy", "xx,yyy", "7,8"], "xx yyy");
		const [one = 0, other = 0, both = 0, none = 0] = worth.slice(1);
		expect(both).toBeGreaterThan(Math.max(one, other));
		expect(Math.min(one, other)).toBeGreaterThan(none);
	});

	it("does not change for a focus that no row has", () => {
		expect(worthInTable(rows, "missing")).toEqual(worthInTable(rows));
	});
});
