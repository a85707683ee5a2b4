import { type LineFeatures, scoreLines, type TextUnits, unitText } from "./lines.ts";

type DiffHeaders = "all" | "files" | "none";

/** Worth compared with 1 for the best changed line. */
const worth = { file: 20, hunk: 30, commit: 10, other: 0.05, context: 0.8 };
/** Lines after which the worth of a hunk halves, so that all hunks are cut evenly. */
const evenness = 60;
/** The line number that some tools write before each line. */
const numbered = /^\s{0,8}\d{1,7}(?:→|\t|:)/;
const fileHeader =
	/^(?:diff --git |Index: |\+\+\+ |rename |deleted file|new file|Binary files|\*\*\* (?:Add|Update|Delete) File)/;
const lesserHeader = /^(?:index [0-9a-f]+\.\.|--- |similarity index|old mode|new mode)/;
const commitHeader = /^(?:commit [0-9a-f]{7,}|From [0-9a-f]{40}|[A-Z][A-Za-z-]{2,20}: )/;

/** Scores the lines of a diff: the chosen headers first, then the lines of each hunk, changed lines first. */
export function scoreDiff(units: TextUnits, features: LineFeatures, headers: DiffHeaders): Float32Array {
	const priority = scoreLines(units, features, { isEven: true });
	let rank = -1;
	let isNamed = false;
	for (let unit = 0; unit < units.count; unit += 1) {
		const line = lineOf(units, unit);
		const own = priority[unit] as number;
		if (fileHeader.test(line)) {
			// The other headers of a file repeat its name.
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
		} else if (rank < 0 && lesserHeader.test(line)) priority[unit] = worth.other;
		else if (rank >= 0) {
			rank += 1;
			priority[unit] = (own * (/^[+-]/.test(line) ? 1 : worth.context)) / (1 + rank / evenness);
		}
	}
	return priority;
}

/** Characters of the headers of a diff, with the marks between them. */
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
	return unitText(units, unit).replace(numbered, "");
}
