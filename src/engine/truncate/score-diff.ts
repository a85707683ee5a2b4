import type { LineFeatures } from "./line-features.ts";
import { scoreLines } from "./score-lines.ts";
import { type TextUnits, unitText } from "./text-units.ts";

const worth = { file: 20, commit: 10, hunk: 1, everyHunk: 30, other: 0.5, context: 0.8 };
/** Lines of a hunk over which those behind count less, so that all hunks are cut evenly. */
const evenness = 60;
/** Where the number of a line stands before it, as some tools show files. */
const numbered = /^\s{0,8}\d{1,7}(?:→|\t|:)/;
const fileHeader =
	/^(?:diff --git |Index: |\+\+\+ |rename |deleted file|new file|Binary files|\*\*\* (?:Add|Update|Delete) File)/;
const lesserHeader = /^(?:index [0-9a-f]+\.\.|--- |similarity index|old mode|new mode)/;
const commitHeader = /^(?:commit [0-9a-f]{7,}|From [0-9a-f]{40}|[A-Z][A-Za-z-]{2,20}: )/;

/**
 * Judges the lines of a diff: headers of files before all, then the lines of each hunk, changed ones first. With
 * `everyHunk` the headers of hunks come before their lines, which is right where all of them take little room.
 */
export function scoreDiff(units: TextUnits, features: LineFeatures, everyHunk: boolean): Float32Array {
	const priority = scoreLines(units, features, { isEven: true });
	let rank = -1;
	let isNamed = false;
	for (let unit = 0; unit < units.count; unit += 1) {
		const line = unitText(units, unit).slice(0, 200).replace(numbered, "");
		const own = priority[unit] as number;
		if (fileHeader.test(line)) {
			// The first header of a file names it; the others say it again.
			const isFirst = !isNamed || rank >= 0 || !line.startsWith("+++");
			priority[unit] = isFirst ? worth.file : worth.other;
			[rank, isNamed] = [-1, true];
		} else if (commitHeader.test(line)) {
			priority[unit] = worth.commit;
			[rank, isNamed] = [-1, false];
		} else if (line.startsWith("@@")) [priority[unit], rank] = [everyHunk ? worth.everyHunk : worth.hunk, 0];
		else if (rank <= 0 && lesserHeader.test(line)) priority[unit] = worth.other;
		else if (rank >= 0) {
			rank += 1;
			priority[unit] = (own * (/^[+-]/.test(line) ? 1 : worth.context)) / (1 + rank / evenness);
		}
	}
	return priority;
}

/** Characters of all headers of a diff, with the marks that stand between them where nothing else is kept. */
export function headerChars(units: TextUnits, gapChars: number): number {
	let chars = 0;
	for (let unit = 0; unit < units.count; unit += 1) {
		const line = unitText(units, unit).slice(0, 200).replace(numbered, "");
		if (line.startsWith("@@") || fileHeader.test(line))
			chars += (units.end[unit] as number) - (units.start[unit] as number) + 1 + gapChars;
	}
	return chars;
}
