import { describe, expect, it } from "vitest";
import { headerChars, scoreDiff } from "../../src/truncation/diff.ts";
import { focusWords } from "../../src/truncation/focus.ts";
import { lineFeatures, textUnits } from "../../src/truncation/lines.ts";

/** The scores of the lines of a diff. */
function scores(lines: readonly string[], headers: "all" | "files" | "none" = "all"): number[] {
	const units = textUnits(lines.join("\n"));
	return [...scoreDiff(units, lineFeatures(units, focusWords("")), headers)];
}

const inHunk = (line: string) => scores(["diff --git a/x b/x", "@@ -1 +1 @@", " same", line]).at(-1) as number;
const beforeHunk = (line: string) => scores(["diff --git a/x b/x", line, "@@ -1 +1 @@"])[1] as number;

const [ofFile, ofHunk, ofCommit, ofOther] = [20, 30, 10, 0.05];

const hash = "0123456789abcdef".repeat(3);

const fileHeaders = [
	"diff --git a/y b/y",
	"Index: y",
	"+++ b/y",
	"rename from y",
	"deleted file mode 100644",
	"new file mode 100644",
	"Binary files a/y and b/y differ",
	"*** Add File: y",
	"*** Update File: y",
	"*** Delete File: y",
];

const commitHeaders = [
	"commit 1234567",
	`commit ${hash}`,
	`From ${hash.slice(0, 40)} Mon Sep 17`,
	"Author: someone",
	"Abc: someone",
	"X-Header: someone",
	`A${"b".repeat(20)}: someone`,
];

const lesserHeaders = ["index 12ab..34cd", "--- a/y", "similarity index 90%", "old mode 100644", "new mode 100755"];

describe("a line of a diff", () => {
	it.each(fileHeaders)("%s is the header of a file", (line) => {
		expect(inHunk(line)).toBe(ofFile);
		expect(inHunk(`x${line}`)).toBeLessThan(2);
	});

	it("may begin with the line number that a tool writes, and have it nowhere else", () => {
		expect([inHunk("1:+++ b/y"), inHunk("  12→+++ b/y")]).toEqual([ofFile, ofFile]);
		expect(inHunk("++1:+ b/y")).toBeLessThan(2);
	});

	it.each(commitHeaders)("%s is the header of a commit", (line) => {
		expect(inHunk(line)).toBe(ofCommit);
		expect(inHunk(`#${line}`)).toBeLessThan(2);
	});

	it.each([
		"commit 123456",
		"commit of mine",
		`From ${hash.slice(0, 39)} Mon`,
		"Ab: someone",
		`A${"b".repeat(21)}: someone`,
		"author: someone",
		"Author:someone",
		"*** Move File: y",
		"diff y",
		"index: y",
	])("%s is the header of neither", (line) => {
		expect(inHunk(line)).toBeLessThan(2);
	});

	it.each(lesserHeaders)("%s is of no worth before the hunks", (line) => {
		expect(beforeHunk(line)).toBeCloseTo(ofOther, 6);
		expect(beforeHunk(`x${line}`)).not.toBeCloseTo(ofOther, 3);
		expect(inHunk(line)).not.toBeCloseTo(ofOther, 3);
	});

	it("may have a line number before it", () => {
		for (const number of ["7→", "1234567\t", "12:", "        7→", "\t3:"])
			expect(inHunk(`${number}Index: y`)).toBe(ofFile);
		for (const number of ["7 ", "12345678\t", "         7→", "→", "x7:", "7-"]) {
			expect(inHunk(`${number}Index: y`), number).toBeLessThan(2);
		}
	});

	it("counts as a header where the budget has room for it", () => {
		const lines = ["commit 1234567", "diff --git a/x b/x", "+++ b/x", "@@ -1 +1 @@", "-old"];
		expect(scores(lines, "all").slice(0, 4)).toEqual([ofCommit, ofFile, Math.fround(ofOther), ofHunk]);
		const [commit, file, again, hunk = 0] = scores(lines, "files");
		expect([commit, file, again]).toEqual([ofCommit, ofFile, Math.fround(ofOther)]);
		expect(hunk).toBeLessThan(2);
		for (const score of scores(lines, "none")) expect(score).toBeLessThan(2);
	});

	it("is worth less the further it is from the start of its hunk, and less if it stays", () => {
		const changed = Array.from(
			{ length: 40 },
			(_, index) => `+line ${index} of ${String.fromCharCode(97 + (index % 26))}`,
		);
		const rows = scores(["diff --git a/x b/x", "@@ -1 +1 @@", ...changed]).slice(2);
		const whole = unrankedScores(["diff --git a/x b/x", "@@ -1 +1 @@", ...changed]);
		for (const [index, row] of rows.entries()) {
			expect(row * (1 + (index + 1) / 60)).toBeCloseTo(whole[index + 2] as number, 4);
		}
		expect(inHunk("-gone")).toBeGreaterThan(inHunk(" gone"));
	});
});

/** What the lines are worth before it counts that they are of a diff. */
function unrankedScores(lines: readonly string[]): number[] {
	// Without a hunk before them the lines keep their own worth.
	return scores(
		lines.map((line, index) => (index === 1 ? "-- -1 +1 --" : line)),
		"none",
	);
}

it("counts the characters of headers, each with a mark", () => {
	const lines = ["diff --git a/x b/x", "+++ b/x", "@@ -1 +1 @@", "+new", "Index: y", "@@ -2 +2 @@"];
	expect(headerChars(textUnits(lines.join("\n")), 4)).toEqual({
		all: 18 + 8 + 2 * 11 + 4 * 5,
		files: 18 + 8 + 2 * 5,
		none: 0,
	});
});
