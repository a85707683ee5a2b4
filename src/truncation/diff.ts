import { type LineFeatures, scoreLines, type TextUnits, unitText } from "./lines.ts";

/** Which headers of a diff come before its lines: those of files and hunks, of files alone, or none. */
type DiffHeaders = "all" | "files" | "none";

/** What headers are worth beside changed lines, of which the most wanted is worth 1. */
const worth = { file: 20, hunk: 30, commit: 10, other: 0.05, context: 0.8 };
/** Lines of a hunk over which those behind count less, so that all hunks are cut evenly. */
const evenness = 60;
/** Where the number of a line stands before it, as some tools show files. */
const numbered = /^\s{0,8}\d{1,7}(?:→|\t|:)/;
const fileHeader =
	/^(?:diff --git |Index: |\+\+\+ |rename |deleted file|new file|Binary files|\*\*\* (?:Add|Update|Delete) File)/;
const lesserHeader = /^(?:index [0-9a-f]+\.\.|--- |similarity index|old mode|new mode)/;
const commitHeader = /^(?:commit [0-9a-f]{7,}|From [0-9a-f]{40}|[A-Z][A-Za-z-]{2,20}: )/;

/** Judges the lines of a diff: the headers that are to come first, then the lines of each hunk, changed ones first. */
export function scoreDiff(units: TextUnits, features: LineFeatures, headers: DiffHeaders): Float32Array {
	const priority = scoreLines(units, features, { isEven: true });
	let rank = -1;
	let isNamed = false;
	for (let unit = 0; unit < units.count; unit += 1) {
		const line = lineOf(units, unit);
		const own = priority[unit] as number;
		if (fileHeader.test(line)) {
			// The first header of a file names it; the others say it again.
			const isFirst = !isNamed || rank >= 0 || !line.startsWith("+++");
			if (!isFirst) priority[unit] = worth.other;
			else if (headers !== "none") priority[unit] = worth.file;
			[rank, isNamed] = [-1, true];
		} else if (commitHeader.test(line)) {
			if (headers !== "none") priority[unit] = worth.commit;
			[rank, isNamed] = [-1, false];
		} else if (line.startsWith("@@")) {
			if (headers === "all") priority[unit] = worth.hunk;
			rank = 0;
		} else if (rank <= 0 && lesserHeader.test(line)) priority[unit] = worth.other;
		else if (rank >= 0) {
			rank += 1;
			priority[unit] = (own * (/^[+-]/.test(line) ? 1 : worth.context)) / (1 + rank / evenness);
		}
	}
	return priority;
}

/** Characters of the headers of a diff, with the marks that stand between them where nothing else is kept. */
export function headerChars(units: TextUnits, gapChars: number): Readonly<Record<DiffHeaders, number>> {
	let files = 0;
	let hunks = 0;
	for (let unit = 0; unit < units.count; unit += 1) {
		const line = lineOf(units, unit);
		const chars = (units.end[unit] as number) - (units.start[unit] as number) + 1 + gapChars;
		if (line.startsWith("@@")) hunks += chars;
		else if (fileHeader.test(line) && !line.startsWith("+++")) files += chars;
	}
	return { all: files + hunks, files, none: 0 };
}

function lineOf(units: TextUnits, unit: number): string {
	return unitText(units, unit).slice(0, 200).replace(numbered, "");
}
