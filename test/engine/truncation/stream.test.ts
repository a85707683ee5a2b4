import { stripVTControlCharacters } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readPassing } from "../../../src/engine/truncation/stream.ts";
import { numberOfCases } from "../../support/case-divisor.ts";
import { shorten, shortenPieces } from "./shorten.ts";

const inChars = (text: string, max: number, pieceChars = 4_096) =>
	shortenPieces(text, { unit: "chars", max }, { mostChars: max, pieceChars });
const line = fc.oneof(
	fc.constantFrom("", "error: bad", "  at x (y.js:1:2)", "FAIL a", "😀😀", "\uD800", "漢字".repeat(30)),
	fc.string({ maxLength: 120 }),
);
const anyLines = fc.array(line, { minLength: 40, maxLength: 120 }).map((lines) => lines.join("\n"));
const numbered = (count: number) => Array.from({ length: count }, (_, index) => `line ${index + 1} is fine`);

describe("a streamed text", () => {
	it("shows the failures of a command that has failed", () => {
		const lines = numbered(2_000);
		lines[1_000] = "ERROR: disk full";
		const { text } = shortenPieces(lines.join("\n"), { unit: "chars", max: 500 }, { hasFailed: true });
		expect(text).toContain("\nERROR: disk full\n");
	});

	it("is the notice alone if its first line fits only without a notice", () => {
		const text = numbered(200).join("\n");
		const notice = `[shortened: ${text.length} characters left out]`;
		expect([0, 1].map((more) => inChars(text, notice.length + more).text)).toEqual([notice, notice]);
		expect(inChars(text, notice.length - 1).text).toContain("line 1 is fine");
	});

	it("is shown within its limit, shorter than before, in its own lines with marks between", () => {
		fc.assert(
			fc.property(
				anyLines,
				fc.oneof(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 200, max: 1_500 })),
				(text, max) => {
					fc.pre(text.length > max);
					const { text: short, notices, kept } = inChars(text, max, 700);
					expect(short.length).toBeLessThanOrEqual(max);
					expect(short.length).toBeLessThan(text.length);
					expect(short.isWellFormed()).toBe(true);
					const shown = notices.reduce((left, notice) => left.replace(notice, ""), short).replaceAll("\n", "");
					const ranges = kept.map(({ start, end }) => text.toWellFormed().slice(start, end)).join("");
					if (short !== "…") expect(shown).toBe(ranges.replaceAll("\n", ""));
				},
			),
			{ numRuns: numberOfCases(400) },
		);
	});

	it("is shown like a held text while all of it is held", () => {
		fc.assert(
			fc.property(
				fc.array(fc.constantFrom("one two", "three", "", "four five six", "seven eight nine ten"), {
					minLength: 5,
					maxLength: 60,
				}),
				fc.integer({ min: 150, max: 400 }),
				(lines, max) => {
					const text = [...lines, "/etc/app.conf: Permission denied", ...lines]
						.map((one, index) => `${one} ${index}`)
						.join("\n");
					fc.pre(text.length > max);
					const held = shorten(text, max, { ref: undefined });
					fc.pre(held.strategy === "head_tail");
					const { text: shown, kept } = inChars(text, max, 64);
					expect({ shown, kept }).toEqual({ shown: held.text, kept: held.kept });
				},
			),
		);
	});

	it("is shown the same for any piece lengths", () => {
		const lines = numbered(40_000);
		for (let index = 50; index < lines.length; index += 397) lines[index] = `src/a${index}.c:1:2: error: no ${index}`;
		lines[20_000] = `${"alpha beta ".repeat(12_000)} FATAL: full ${"gamma ".repeat(9_000)}`;
		const text = lines.join("\n");
		const expected = inChars(text, 6_000, 65_536).text;
		expect(expected).toContain("error: no 50");
		for (const pieceChars of [997, 200_000, text.length]) expect(inChars(text, 6_000, pieceChars).text).toBe(expected);
	});

	it("keeps a failure in the middle of 20 000 lines, and the lines after it", () => {
		const lines = numbered(20_000);
		lines[11_999] = "FATAL: the disk is on fire";
		const { text } = inChars(lines.join("\n"), 2_000);
		expect(text).toContain("–11999 …]\nFATAL: the disk is on fire\nline 12001 is fine\n");
		expect(text).toContain("line 1 is fine\n");
		expect(text.endsWith("\nline 20000 is fine")).toBe(true);
		expect(text.length).toBeGreaterThan(1_800);
	});

	it("names exactly the omitted lines", () => {
		const lines = numbered(20_000);
		lines[11_999] = "FATAL: the disk is on fire";
		const { text } = inChars(`${lines.join("\n")}\n`, 2_000);
		const gaps = Array.from(text.matchAll(/\[… lines (\d+)–(\d+) …\]/g), ([, from, to]) => [Number(from), Number(to)]);
		expect(gaps).toHaveLength(2);
		const shown = new Set(text.split("\n"));
		const isLeftOut = (number: number) => gaps.some(([from = 0, to = 0]) => number >= from && number <= to);
		expect(lines.filter((one) => shown.has(one))).toEqual(lines.filter((_, index) => !isLeftOut(index + 1)));
		const omitted = gaps.reduce((sum, [from = 0, to = 0]) => sum + to - from + 1, 0);
		expect(text).toContain(`${omitted} of 20000 lines left out`);
	});

	it("of one endless line shows its beginning and its end, and the failure in it", () => {
		const numbers = Array.from({ length: 60_000 }, (_, index) => `${index} `).join("");
		const text = `${numbers} FATAL: the disk is on fire ${numbers}`;
		const { text: short, kept } = inChars(text, 1_500);
		expect(short).toContain("FATAL: the disk is on fire");
		expect(kept.at(0)?.start).toBe(0);
		expect(kept.at(-1)?.end).toBe(text.length);
		expect(kept).toHaveLength(3);
		const left = Array.from(short.matchAll(/\[… (\d+) characters …\]/g), ([, chars]) => Number(chars));
		expect(left).toEqual(kept.slice(1).map(({ start }, index) => start - (kept[index]?.end ?? 0)));
	});

	it("finds a failure after a progress bar that returns to the start of its line", () => {
		const { text } = inChars(`${"50 % done\r".repeat(50_000)}FATAL: full\n${"next\n".repeat(90_000)}`, 1_500);
		expect(text).toContain("FATAL: full\nnext");
	});

	it("reports a failure once, with any timestamp before it", () => {
		const hour = (index: number) => `10:${10 + Math.floor(index / 6_000)}:${10 + (index % 50)}`;
		const lines = Array.from({ length: 200_000 }, (_, index) =>
			index % 50 === 7 ? `${hour(index)} error: a` : `${hour(index)} step ${index}`,
		);
		lines[150_001] = "10:00:03 error: b";
		const { text } = inChars(lines.join("\n"), 3_000);
		expect(text).toContain("10:00:03 error: b");
		expect(text.split("\n").filter((one) => one.endsWith("error: a")).length).toBeLessThan(5);
	});

	it("reports only the omission when there is no other room, and the room it needs", () => {
		const text = "0123456789".repeat(50_000);
		expect(inChars(text, 45).text).toBe("[shortened: 499995 characters left out]\n01234");
		expect(inChars(text, 20)).toMatchObject({ text: "01234567890123456789", leastBudget: 39 });
		expect(inChars("😀".repeat(50_000), 5).text).toBe("😀😀");
	});

	it("is held in a small part, even with very long lines", () => {
		for (const piece of ["error ".repeat(11_000), `error in a test of many\n`.repeat(2_700), "x\n".repeat(32_000)]) {
			const passing = readPassing(2_000);
			for (let index = 0; index < 24; index += 1) passing.push(piece);
			const { units } = passing.end();
			let held = 0;
			for (let unit = 0; unit < units.count; unit += 1)
				if (units.isHeld(unit)) held += (units.end[unit] as number) - (units.start[unit] as number);
			expect(units.chars).toBe(24 * piece.length);
			expect(held).toBeLessThan(400_000);
		}
	});

	it("loses colours completely, even those split between pieces", () => {
		const text = Array.from({ length: 30_000 }, (_, index) => `\u001b[32mok\u001b[0m ${index}`).join("\n");
		const passing = readPassing(2_000, stripVTControlCharacters);
		for (let at = 0; at < text.length; at += 333) passing.push(text.slice(at, at + 333));
		const { units, some } = passing.end();
		expect(some).not.toContain("[32m");
		expect(units.lines).toBe(30_000);
	});
});
