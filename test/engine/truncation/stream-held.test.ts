import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { failureSigns } from "../../../src/engine/truncation/failures.ts";
import { textUnits } from "../../../src/engine/truncation/lines.ts";
import { readPassing } from "../../../src/engine/truncation/stream.ts";

/** A word for a number, without digits. */
const word = (index: number) => `${index}`.replace(/\d/g, (digit) => String.fromCharCode(98 + Number(digit)));
const filler = (index: number) => `step ${index} `.padEnd(999, "x");

/**
 * The numbers of the lines between the start and the end of a text that are held. The start are 65 lines of a thousand
 * characters, and the end as many.
 */
const heldBetween = (lines: readonly string[]) => {
	const start = Array.from({ length: 66 }, (_, index) => filler(index));
	const end = Array.from({ length: 140 }, (_, index) => filler(index));
	const passing = readPassing(1_000);
	passing.push([...start, ...lines, ...end].join("\n"));
	const { units } = passing.end();
	const held = Array.from({ length: units.count }, (_, unit) => unit).filter(units.isHeld);
	return [...new Set(held.map((unit) => (units.line[unit] as number) - 66))].filter(
		(number) => number > 0 && number <= lines.length,
	);
};
const fillers = (count: number) => Array.from({ length: count }, (_, index) => filler(index));

describe("between the start and the end of a stream", () => {
	it("a failure and three lines after it are held, up to a blank one", () => {
		expect(heldBetween(["1", "ERROR: full", "3", "4", "5", "6"])).toEqual([2, 3, 4, 5]);
		expect(heldBetween(["1", "ERROR: full", "3", " ", "5", "6"])).toEqual([2, 3]);
		expect(heldBetween([...fillers(70), "ERROR: full", "3", "4", "5", "6"])).toEqual([71, 72, 73, 74]);
	});

	it("a line with a word of failure is held alone", () => {
		expect(heldBetween(["1", "it was denied", "3"])).toEqual([2]);
	});

	it("lines are held in their order, whatever kind of failure they report", () => {
		expect(heldBetween(["it was denied", "2", "3", "4", "5", "ERROR: full"])).toEqual([1, 6]);
	});

	it("a failure is held once, with any time", () => {
		expect(heldBetween(["10:00:01 ERROR: a", "", "10:00:02 ERROR: a", "", "ERROR: b"])).toEqual([1, 5]);
		expect(heldBetween(["ERROR: a", "", "ERROR: b", "", "ERROR: a"])).toEqual([1, 3]);
	});

	it("the first 160 failures and the last 160 are held", () => {
		const failures = Array.from({ length: 500 }, (_, index) => [`ERROR: worker ${word(index)}`, ""]).flat();
		const held = heldBetween(failures).map((number) => (number + 1) / 2);
		expect(held.slice(0, 160)).toEqual(Array.from({ length: 160 }, (_, index) => index + 1));
		expect(held.slice(-160)).toEqual(Array.from({ length: 160 }, (_, index) => index + 341));
		expect(held).toHaveLength(320);
	});

	it("80 failures of other words are held too", () => {
		const said = (index: number) =>
			index % 5 === 0 ? `${word(index)}a ${word(index)}e ${word(index)}i` : `worker ${word(index)}`;
		const failures = Array.from({ length: 900 }, (_, index) => [`ERROR: ${said(index)}`, ""]).flat();
		const held = heldBetween(failures).map((number) => (number - 1) / 2);
		const between = held.slice(160, -160);
		expect(between).toEqual(Array.from({ length: 80 }, (_, index) => 160 + 5 * index));
	});

	it("40 lines with other words of failure are held too, and they displace no sure failure", () => {
		const said = (index: number) =>
			index % 5 === 0 ? `${word(index)}a ${word(index)}e ${word(index)}i` : `worker ${word(index)}`;
		const lines = Array.from({ length: 900 }, (_, index) => [`denied ${said(index)}`, ""]).flat();
		lines[801] = "ERROR: worker is full";
		const between = heldBetween(lines).slice(160, -160);
		expect(between).toEqual([...Array.from({ length: 40 }, (_, index) => 321 + 10 * index), 802, 803]);
	});

	it("a failure in a long line is held with what is around it", () => {
		const long = `${"word ".repeat(2_000)}ERROR: disk full ${"word ".repeat(2_000)}`;
		expect(heldBetween([long, "2", "3", "4", "5"])).toEqual([1, 2, 3, 4]);
		expect(heldBetween([`${"word ".repeat(2_000)}ERROR: disk full`, "", "3"])).toEqual([1]);
	});

	it("a failure in a long line is held with as much before it as after it", () => {
		const before = "word ".repeat(6_000);
		const start = Array.from({ length: 66 }, (_, index) => filler(index)).join("\n");
		const passing = readPassing(1_000);
		passing.push(`${start}\n${before}ERROR: disk full ${before}\n${"end\n".repeat(50_000)}`);
		const { units } = passing.end();
		const held = Array.from({ length: units.count }, (_, unit) => unit).filter(
			(unit) => units.line[unit] === 67 && units.isHeld(unit),
		);
		const failure = start.length + 1 + before.length;
		const [first = 0, last = 0] = [held[0], held.at(-1)];
		expect(failure - (units.start[first] as number)).toBeGreaterThan(6_000);
		expect((units.end[last] as number) - failure).toBeGreaterThan(6_000);
		expect((units.end[last] as number) - (units.start[first] as number)).toBeLessThanOrEqual(16_000);
	});

	it("the start is held for as many characters as an excerpt may have", () => {
		const passing = readPassing(200_000);
		passing.push(fillers(900).join("\n"));
		const { units } = passing.end();
		const gap = Array.from({ length: units.count }, (_, unit) => unit).find((unit) => !units.isHeld(unit)) as number;
		expect(units.start[gap]).toBeGreaterThanOrEqual(200_000);
		expect(units.start[gap]).toBeLessThan(300_000);
	});

	it("the units and the gaps between them leave nothing out", () => {
		const before = "word ".repeat(6_000);
		const start = Array.from({ length: 66 }, (_, index) => filler(index)).join("\n");
		const text = `${start}\n${before}ERROR: disk full ${before}\n${"end\n".repeat(50_000)}`;
		const passing = readPassing(1_000);
		passing.push(text);
		const { units } = passing.end();
		expect(units.start[0]).toBe(0);
		for (let unit = 1; unit < units.count; unit += 1) {
			const [end, next] = [units.end[unit - 1] as number, units.start[unit] as number];
			const between = units.line[unit] === units.line[unit - 1] ? [0] : [0, 1];
			expect(between, String(unit)).toContain(next - end);
		}
	});

	it("each line between has one gap", () => {
		const start = Array.from({ length: 66 }, (_, index) => filler(index));
		const passing = readPassing(1_000);
		passing.push([...start, "ERROR: a", " ", "ERROR: b", " ", "x", "ERROR: c", ...fillers(140)].join("\n"));
		const { units } = passing.end();
		const gaps = Array.from({ length: units.count }, (_, unit) => unit).filter((unit) => !units.isHeld(unit));
		const lines = gaps.map((unit) => units.line[unit] as number);
		expect(new Set(lines).size).toBe(lines.length);
		expect(lines).toEqual(expect.arrayContaining([68, 70, 71]));
	});

	it("lines have the signs that they have in a held text, in each stretch", () => {
		const lines = Array.from({ length: 4_000 }, (_, index) => `FAIL ${word(index)}.test.ts`.padEnd(60, " x"));
		const passing = readPassing(1_000_000);
		passing.push(lines.join("\n"));
		expect([...passing.end().signs]).toEqual([...failureSigns(textUnits(lines.join("\n")))]);
	});

	it("a sample of both ends is as long as two excerpts at most", () => {
		const passing = readPassing(1_000);
		passing.push(fillers(300).join("\n"));
		const { some } = passing.end();
		expect(some).toHaveLength(2_000);
		expect(some).toContain("x\nstep");
	});

	it("an escape sequence at the end of a stretch is removed as a whole", () => {
		const stretch = 65_536;
		const lines = `${"x".repeat(99)}\n`.repeat(655);
		const passing = readPassing(1_000_000, stripVTControlCharacters);
		passing.push(`${lines}${"y".repeat(stretch - lines.length - 2)}\u001b[31mred\u001b[0m\nend`);
		const { units } = passing.end();
		const shown = Array.from({ length: units.count }, (_, unit) =>
			units.slice(units.start[unit] as number, units.end[unit] as number),
		);
		expect(shown.at(-2)).toMatch(/^y+red$/);
	});

	it("a failure in the first line has the same sign as in a held text", () => {
		for (const line of ["FAIL a.test.ts", "Error: no", "✗ it works", "12 tests failed", "exit status 1", "fine"]) {
			const text = `${line}\nfine\n`;
			const passing = readPassing(1_000);
			passing.push(text);
			expect([...passing.end().signs], line).toEqual(
				[...failureSigns(textUnits(text))].slice(0, passing.end().signs.length),
			);
		}
	});
});
