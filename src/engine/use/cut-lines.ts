import { programName } from "./program-name.ts";
import type { FileRead } from "./target.ts";

/** The lines that `head`, `tail` or `sed -n` leave of some lines. */
export function cutLines(lines: FileRead["lines"], words: readonly string[]): FileRead["lines"] {
	const name = programName(words[0]);
	const from = typeof lines === "object" ? lines.from : 1;
	const to = typeof lines === "object" ? lines.to : Number.POSITIVE_INFINITY;
	if (lines === "part") return "part";
	if (name === "sed") {
		const range = printedLines(words);
		if (range === undefined) return "part";
		return { from: from + range.from - 1, to: Math.min(to, from + range.to - 1) };
	}
	const count = lineCount(words);
	if (count === undefined) return "part";
	if (name === "head") return { from, to: Math.min(to, from + count.lines - 1) };
	if (name !== "tail") return "part";
	if (count.fromStart) return { from: from + count.lines - 1, to };
	// The end of a file is not known, that of a range is.
	return Number.isFinite(to) ? { from: Math.max(from, to - count.lines + 1), to } : "part";
}

/** `-n 20`, `-20`, `-n +5`; 10 where nothing is said. */
function lineCount(words: readonly string[]): { lines: number; fromStart: boolean } | undefined {
	const options = words.slice(1);
	if (options.some((word) => /^(?:-c|--bytes)/.test(word))) return undefined;
	for (const [index, word] of options.entries()) {
		const isApart = word === "-n" || word === "--lines";
		const value = isApart ? options[index + 1] : /^(?:-n|--lines=|-)([+-]?\d{1,9})$/.exec(word)?.[1];
		if (value === undefined) continue;
		const found = /^(\+?)(\d{1,9})$/.exec(value);
		return found ? { lines: Number(found[2]), fromStart: found[1] === "+" } : undefined;
	}
	return { lines: 10, fromStart: false };
}

/** The lines that `sed -n '10,20p'` prints. */
export function printedLines(words: readonly string[]) {
	if (!words.some((word) => /^-[a-z]*n[a-z]*$|^--quiet$|^--silent$/.test(word))) return undefined;
	for (const word of words.slice(1)) {
		const found = /^(\d{1,9})(?:,(\d{1,9}|\$))?p$/.exec(word);
		if (!found) continue;
		const from = Number(found[1]);
		const to = found[2] === undefined ? from : found[2] === "$" ? Number.POSITIVE_INFINITY : Number(found[2]);
		return { from, to };
	}
	return undefined;
}
