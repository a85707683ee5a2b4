import { describe, expect, it } from "vitest";
import { outlineOfDiff, readDiff, scoreDiff } from "../../../src/engine/truncation/diff.ts";
import { focusWords } from "../../../src/engine/truncation/focus.ts";
import { lineFeatures, textUnits } from "../../../src/engine/truncation/lines.ts";
import { noticesOf } from "../../support/notices-of.ts";
import { shorten } from "./shorten.ts";

const read = (lines: readonly string[]) => readDiff(textUnits(lines.join("\n")));

/** The scores of the lines of a diff. */
function scores(lines: readonly string[]): number[] {
	const units = textUnits(lines.join("\n"));
	return [...scoreDiff(units, lineFeatures(units, focusWords("")), readDiff(units))];
}

/** The number of files in a diff whose line after a complete hunk is the given one. */
const filesBefore = (line: string) =>
	read(["diff --git a/x b/x", "@@ -1 +1 @@", "-old", "+new", line, "@@ -1 +1 @@"]).files.length;
const inHunk = (line: string) => read(["diff --git a/x b/x", "@@ -1,9 +1,9 @@", " same", line]).kinds[3];

const hash = "0123456789abcdef".repeat(3);

describe("a line of a diff", () => {
	it.each(["diff --git a/y b/y", "diff -ruN a/y b/y", "diff --cc y", "Index: y", "*** Add File: y"])(
		"starts a file: %s",
		(line) => {
			const { files } = read(["diff --git a/x b/x", "@@ -1 +1 @@", "-old", "+new", line]);
			expect(files.map(({ from, to }) => [from, to])).toEqual([
				[0, 4],
				[4, 5],
			]);
			expect(filesBefore(line)).toBe(2);
			expect(filesBefore(`x${line}`)).toBe(1);
		},
	);

	it("starts a file as a pair of names", () => {
		const { files } = read([
			"--- a/x",
			"+++ b/x",
			"@@ -1 +1 @@",
			"-old",
			"+new",
			"--- a/y",
			"+++ b/y",
			"@@ -1 +0,0 @@",
			"-a",
		]);
		expect(files.map(({ from, name, added, removed }) => [from, name, added, removed])).toEqual([
			[0, 1, 1, 1],
			[5, 6, 0, 1],
		]);
	});

	it("starts a file as a name alone, before a hunk", () => {
		expect(
			read(["+++ b/x", "@@ -1 +1 @@", "-old", "+new", "+++ b/y", "@@ -1 +1 @@"]).files.map(({ from }) => from),
		).toEqual([0, 4]);
	});

	it.each(["commit 1234567", `commit ${hash}`, `From ${hash.slice(0, 40)} Mon Sep 17`, "Author: someone"])(
		"is the header of a commit: %s",
		(line) => {
			expect(read([line, "diff --git a/x b/x"]).kinds[0]).toBe("commit");
			expect(read(["diff --git a/x b/x", "@@ -1 +1 @@", "-old", "+new", line]).files[0]?.to).toBe(4);
		},
	);

	it("is a removed or added line wherever the head of its hunk announces it", () => {
		for (const line of ["--- a/y", "--- comment", "-- x", "-"]) expect(inHunk(line), line).toBe("changed");
		for (const line of ["+++ b/y", "+", "+@@ -1 +1 @@"]) expect(inHunk(line), line).toBe("changed");
		expect(inHunk(" same")).toBe("context");
	});

	it("may have a line number before it", () => {
		for (const number of ["7→", "1234567\t", "12:", "        7→"]) {
			expect(read([`${number}diff --git a/y b/y`]).files.length, number).toBe(1);
		}
		for (const number of ["7 ", "12345678\t", "→", "x7:"]) {
			expect(read([`${number}diff --git a/y b/y`]).files.length, number).toBe(0);
		}
	});

	it("is worth less the further it is from the start of its hunk, and less if it stays", () => {
		const changed = Array.from(
			{ length: 40 },
			(_, index) => `+line ${index} of ${String.fromCharCode(97 + (index % 26))}`,
		);
		const rows = scores(["diff --git a/x b/x", "@@ -1 +1,40 @@", ...changed]).slice(2);
		const twice = scores(["diff --git a/x b/x", "@@ -1 +1,40 @@", changed[0] as string, changed[0] as string]).slice(2);
		expect(rows[39] as number).toBeLessThan(rows[13] as number);
		expect(twice[1] as number).toBeLessThan(twice[0] as number);
		const [gone = 0, same = 0] = scores(["diff --git a/x b/x", "@@ -1,2 +1 @@", "-\tcall(one)", " \tcall(two)"]).slice(
			2,
		);
		expect(gone).toBeGreaterThan(1.2 * same);
	});
});

describe("the outline of a diff", () => {
	const lines = [
		"diff --git a/x b/x",
		"index 12ab..34cd 100644",
		"--- a/x",
		"+++ b/x",
		"@@ -1 +1 @@",
		"-old",
		"+new",
		"diff --git a/gone b/gone",
		"deleted file mode 100644",
		"--- a/gone",
		"+++ /dev/null",
		"@@ -1,2 +0,0 @@",
		"-old",
		"-older",
		"diff --git a/r b/s",
		"rename from r",
		"rename to s",
	];
	const units = textUnits(lines.join("\n"));
	const diff = readDiff(units);
	const priority = scoreDiff(units, lineFeatures(units, focusWords("")), diff);
	const outline = outlineOfDiff({ units, diff, priority, wording: noticesOf("en") });

	it("names a file by the shortest line with its name", () => {
		expect(diff.files.map(({ name }) => name)).toEqual([3, 9, 14]);
	});

	it("puts each line under its hunk, and each hunk under its file", () => {
		expect([5, 4, 3, 12, 11].map((unit) => outline.parent[unit])).toEqual([4, 3, -1, 11, 9]);
	});

	it("marks the first gap of each file with the lines that it changes, and names the files that are omitted", () => {
		const at = { from: 2, to: 6 };
		const marks = [true, false].map((listsNames) => {
			const mark = outline.startMarks(listsNames);
			return [mark(0, 3, at), mark(4, 5, at), mark(6, 7, at), mark(8, 17, at)];
		});
		const own = ["[… lines 2–6 …]", "[… lines 2–6; this file: +1 -1 …]", "[… lines 2–6 …]"];
		expect(marks).toEqual([
			[...own, "[… lines 2–6; gone +0 -2, s +0 -0 …]"],
			[...own, "[… lines 2–6; files: 2, +0 -2 …]"],
		]);
	});

	it("reads the name of a file from any of its headers", () => {
		const named = (...header: readonly string[]) => {
			const text = textUnits([...header, "@@ -1 +1 @@", "-old", "+new", "context after it"].join("\n"));
			const found = readDiff(text);
			const scores = new Float32Array(text.count);
			const mark = outlineOfDiff({ units: text, diff: found, priority: scores, wording: noticesOf("en") });
			return mark.startMarks(true)(0, text.count, { from: 1, to: 2 });
		};
		for (const header of [
			["diff --git a/lib/x.c b/lib/x.c", "--- a/lib/x.c", "+++ b/lib/x.c"],
			["--- a/lib/x.c\t2026-01-02", "+++ b/lib/x.c\t2026-01-03"],
			["Index: lib/x.c"],
			["diff --git a/lib/x.c b/lib/x.c"],
			["*** Update File: lib/x.c"],
		]) {
			expect(named(...header), header[0]).toBe("[… lines 1–2; lib/x.c +1 -1 …]");
		}
	});

	it("takes changed lines before others of the same worth, a run at a time", () => {
		const rows = (sign: string) => Array.from({ length: 6 }, (_, index) => `${sign}\tcallOne(${index}, "x");`);
		const text = textUnits(
			["diff --git a/x b/x", "@@ -1,12 +1,12 @@", ...rows(" "), ...rows("-"), ...rows("+")].join("\n"),
		);
		const found = readDiff(text);
		const scores = Float32Array.from(found.kinds, (kind) => (kind === "context" ? 0.8 : 1));
		const { runs } = outlineOfDiff({ units: text, diff: found, priority: scores, wording: noticesOf("en") });
		expect(runs.map((run) => run.length)).toEqual([8, 4, 6]);
		expect(runs.at(-1)?.[0]).toBe(2);
	});
});

/** A diff of some files with hunks of changed lines between unchanged ones. */
function diffOf(files: number, hunks: number, linesOf: (file: number, hunk: number) => readonly string[]): string {
	return Array.from({ length: files }, (_, file) => [
		`diff --git a/packages/part-${file}/src/module-${file}.ts b/packages/part-${file}/src/module-${file}.ts`,
		`index 12ab${file}..34cd${file} 100644`,
		`--- a/packages/part-${file}/src/module-${file}.ts`,
		`+++ b/packages/part-${file}/src/module-${file}.ts`,
		...Array.from({ length: hunks }, (_, hunk) => {
			const lines = linesOf(file, hunk);
			const count = (sign: string) => lines.filter((line) => line[0] !== sign).length;
			return [
				`@@ -${hunk * 60 + 1},${count("+")} +${hunk * 60 + 1},${count("-")} @@ function f${file}_${hunk}()`,
				...lines,
			];
		}).flat(),
	])
		.flat()
		.join("\n");
}

describe("a shortened diff", () => {
	const diff = diffOf(14, 4, (file, hunk) =>
		Array.from({ length: 20 }, (_, index) => {
			const sign = [" ", "+", "-", " ", " ", "+"][(index * 7 + file + hunk) % 6];
			return `${sign}\tconst value${index}_${file} = compute${hunk}(input${(index * 13) % 7}, ${file * hunk});`;
		}),
	);

	it.each([3_200, 6_000, 12_000])("names every file with what it changes, in %i characters", (max) => {
		const { text } = shorten(diff, max, { ref: undefined });
		for (let file = 0; file < 14; file += 1) expect(text).toContain(`packages/part-${file}/src/module-${file}.ts`);
		expect(text.match(/(?:this file:|\.ts) \+\d+ -\d+/g)?.length).toBe(14);
	});

	it.each([600, 1_500, 3_000, 6_000, 20_000])(
		"shows a line only below its file and its hunk, in %i characters",
		(max) => {
			const shown = shorten(diff, max, { ref: undefined }).text.split("\n");
			let [file, hunk, lines] = ["", "", 0];
			for (const line of shown) {
				file = /module-(\d+)\.ts$/.exec(line)?.[1] ?? file;
				hunk = /^@@.* function (f\S+)\(\)/.exec(line)?.[1] ?? hunk;
				const [, own, part] = /_(\d+) = compute(\d+)/.exec(line) ?? [];
				if (own === undefined) continue;
				lines += 1;
				expect([file, hunk], line).toEqual([own, `f${own}_${part}`]);
			}
			expect(lines).toBeGreaterThan(0);
		},
	);

	it.each([1_500, 4_000, 8_000])("shows changed lines before others, in %i characters", (max) => {
		const shown = shorten(diff, max, { ref: undefined }).text.split("\n");
		const count = (sign: string) => shown.filter((line) => line.startsWith(`${sign}\t`)).length;
		expect(count("+") + count("-")).toBeGreaterThan(1.5 * count(" "));
	});

	it("counts the files that it does not name", () => {
		const many = diffOf(400, 1, (file) => Array.from({ length: file % 50 }, (_, index) => `+row ${index} of ${file}`));
		const { text } = shorten(many, 4_000, { ref: undefined });
		const named = text.match(/^\+\+\+ b\/packages/gm)?.length ?? 0;
		const counted = [...text.matchAll(/files: (\d+), /g)].reduce((sum, [, count]) => sum + Number(count), 0);
		expect(named).toBeGreaterThan(0);
		expect(named + counted).toBeGreaterThanOrEqual(400);
	});

	it("keeps the message of a commit before its files", () => {
		const { text } = shorten(`commit ${hash.slice(0, 40)}\nAuthor: A <a@b.c>\n\n    Change it\n\n${diff}`, 4_000);
		expect(text).toContain(`commit ${hash.slice(0, 40)}\nAuthor: A <a@b.c>`);
		expect(text).toContain("    Change it");
	});
});
