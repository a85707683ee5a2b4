import { fillTemplate } from "../masking/template.ts";
import type { NoticeWordings } from "../policy/wordings.ts";
import type { LineSpan } from "./draft.ts";
import { type LineFeatures, scoreLines, type TextUnits, unitText } from "./lines.ts";
import { type Outline, outlineLevels } from "./runs.ts";

/** Worth compared with 1 for the best changed line. */
const worth = { hunk: 0.05, commit: 0.3, other: 0.05, context: 0.2 };
/** Lines after which the worth of a hunk halves, so that all hunks are cut evenly. */
const evenness = 60;
/** The line number that some tools write before each line. */
const numbered = /^\s{0,8}\d{1,7}(?:→|\t|:)/;
const fileStart = /^(?:diff -|Index: |\*\*\* (?:Add|Update|Delete) File|Only in )/;
/** A line before the hunks of a file. */
const preamble =
	/^(?:index [0-9a-f]+(?:\.\.|,)|--- |\+\+\+ |={20,}|(?:dis)?similarity index|old mode|new mode|deleted file|new file|rename |copy |Binary files|GIT binary patch)/;
const commitHeader = /^(?:commit [0-9a-f]{7,}|From [0-9a-f]{40}|[A-Z][A-Za-z-]{2,20}: )/;
const commitName = /^(?:commit |From [0-9a-f]|Subject: )/;
const hunkHead = /^@@/;
const lineCounts = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/;

type UnitKind = "changed" | "context" | "other" | "commit" | "head";

interface DiffFile {
	/** The first unit of its headers. */
	readonly from: number;
	/** The unit after its last. */
	to: number;
	/** The unit with its name that is shortest. */
	name: number;
	isEmpty: boolean;
	added: number;
	removed: number;
}

export interface ReadDiff {
	readonly kinds: readonly UnitKind[];
	/** For each unit its place in its hunk, from 1; 0 outside hunks. */
	readonly ranks: Uint32Array;
	readonly files: readonly DiffFile[];
	readonly outline: Pick<Outline, "level" | "parent">;
}

/** Reads the files and hunks of a diff. A hunk ends where its head says, so `-- x` removed in one is no header. */
export function readDiff(units: TextUnits): ReadDiff {
	const { count, line } = units;
	const level = new Uint8Array(count);
	const parent = new Int32Array(count).fill(-1);
	const ranks = new Uint32Array(count);
	const kinds: UnitKind[] = [];
	const files: DiffFile[] = [];
	let file: DiffFile | undefined;
	let head = -1;
	/** Lines that the head of the hunk announces; -1 if it announces none. */
	let [before, after, rank] = [0, 0, 0];
	const textAt = (unit: number) => (unit < count ? unitText(units, unit).slice(0, 400).replace(numbered, "") : "");
	const startFile = (unit: number) => {
		file = { from: unit, to: count, name: unit, isEmpty: true, added: 0, removed: 0 };
		files.push(file);
		head = -1;
	};
	const endFile = (unit: number) => {
		if (file !== undefined) file.to = unit;
		file = undefined;
		head = -1;
	};
	for (let unit = 0; unit < count; unit += 1) {
		if (unit > 0 && line[unit] === line[unit - 1]) {
			// A piece of a long line is what the line is.
			kinds.push(kinds[unit - 1] as UnitKind);
			[level[unit], ranks[unit]] = [outlineLevels.line, ranks[unit - 1] as number];
			parent[unit] = head === -1 ? (file?.name ?? -1) : head;
			continue;
		}
		const text = textAt(unit);
		const sign = text[0] ?? " ";
		const isAnnounced = head !== -1 && (before > 0 || after > 0) && /[-+ \\\r]/.test(sign);
		const isPair = text.startsWith("--- ") ? textAt(unit + 1).startsWith("+++ ") : isLoneName(text, textAt(unit + 1));
		if (!isAnnounced && (fileStart.test(text) || (isPair && (file === undefined || head !== -1 || !file.isEmpty)))) {
			endFile(unit);
			startFile(unit);
			kinds.push("head");
		} else if (!isAnnounced && commitHeader.test(text)) {
			endFile(unit);
			level[unit] = outlineLevels.free;
			kinds.push("commit");
		} else if (!isAnnounced && hunkHead.test(text)) {
			const announced = lineCounts.exec(text);
			[before, after] = announced ? [Number(announced[1] ?? 1), Number(announced[2] ?? 1)] : [-1, -1];
			[head, rank] = [unit, 0];
			level[unit] = outlineLevels.hunk;
			parent[unit] = file?.name ?? -1;
			kinds.push("head");
			if (file !== undefined) file.isEmpty = false;
		} else if (!isAnnounced && file?.isEmpty === true && preamble.test(text)) {
			const isName = text.startsWith("+++ ") || (text.startsWith("--- ") && file.name === file.from);
			if (isName && !text.includes("/dev/null") && !/^Index: |^\*\*\*/.test(textAt(file.from))) file.name = unit;
			kinds.push("other");
		} else if (isAnnounced || (file !== undefined && (head !== -1 || sign === "+") && /[-+ \\\r]/.test(sign))) {
			if (file !== undefined) {
				file.isEmpty = false;
				if (sign === "+") file.added += 1;
				if (sign === "-") file.removed += 1;
			}
			if (sign !== "+" && sign !== "\\") before -= 1;
			if (sign !== "-" && sign !== "\\") after -= 1;
			rank += 1;
			ranks[unit] = rank;
			kinds.push(sign === "+" || sign === "-" ? "changed" : "context");
			parent[unit] = head === -1 ? (file?.name ?? -1) : head;
		} else {
			// Text between diffs, such as the message of a commit.
			if (file !== undefined && !preamble.test(text)) endFile(unit);
			if (file === undefined) level[unit] = outlineLevels.free;
			kinds.push(file === undefined ? "context" : "other");
		}
	}
	return { kinds, ranks, files, outline: { level, parent } };
}

function isLoneName(line: string, next: string): boolean {
	return line.startsWith("+++ ") && hunkHead.test(next);
}

interface DiffOutlineParameters {
	readonly units: TextUnits;
	readonly diff: ReadDiff;
	readonly wording: NoticeWordings;
	/** Whether a file is named by the complete first line of its headers, instead of by the shortest line with its name. */
	readonly hasLongNames: boolean;
}

/** The heads that lines need, and the marks of gaps, which say how many lines each file changes. */
export function outlineOfDiff({ units, diff, wording, hasLongNames }: DiffOutlineParameters): Outline {
	const level = diff.outline.level.slice();
	const parent = diff.outline.parent.slice();
	const nameOf = ({ from, name }: DiffFile) => (hasLongNames ? from : name);
	const nameBy = new Map(diff.files.map((file) => [file.name, nameOf(file)]));
	for (const [unit, one] of parent.entries()) if (one !== -1) parent[unit] = nameBy.get(one) ?? one;
	for (const file of diff.files) {
		const name = nameOf(file);
		for (let unit = file.from; unit < name; unit += 1) level[unit] = outlineLevels.free;
		level[name] = outlineLevels.file;
		parent[name] = -1;
	}
	const total = { added: 0, removed: 0 };
	for (const { added, removed } of diff.files) {
		total.added += added;
		total.removed += removed;
	}
	const longest = (template: string) =>
		fillTemplate(template, { ...total, files: diff.files.length, from: units.lines, to: units.lines }).length;
	const plain = longest(wording.gap);
	const ofFile = Math.max(0, longest(wording.gapOfFile) - plain);
	const ofFiles = Math.max(0, longest(wording.gapOfFiles) - plain);
	const names = diff.files.map(nameOf);
	const chars = (unit: number) => (units.end[unit] as number) - (units.start[unit] as number) + 1;
	return {
		level,
		parent,
		isMinor: Uint8Array.from(diff.kinds, (kind) => (kind === "context" || kind === "other" ? 1 : 0)),
		names,
		namesChars: names.reduce((sum, name) => sum + chars(name) + ofFile, 0),
		noteChars: ({ isComplete }) => (isComplete ? ofFile : Math.max(ofFile, 2 * ofFiles)),
		startMarks: () => markGaps(diff.files, nameOf, wording),
	};
}

/** Returns a function that writes the mark of each gap, in order: the first in a file says how much the file changes. */
function markGaps(files: readonly DiffFile[], nameOf: (file: DiffFile) => number, wording: NoticeWordings) {
	let next = 0;
	let told = -1;
	return (from: number, to: number, lines: LineSpan): string => {
		// `next` is the first file whose name comes after the gap, or in it.
		while (next < files.length && nameOf(files[next] as DiffFile) < from) next += 1;
		const own = files[next - 1];
		const inGap: DiffFile[] = [];
		if (own !== undefined && told < next - 1 && from < own.to) inGap.push(own);
		if (inGap.length > 0) told = next - 1;
		const isNamed = inGap.length > 0;
		while (next < files.length && nameOf(files[next] as DiffFile) < to) {
			inGap.push(files[next] as DiffFile);
			told = next;
			next += 1;
		}
		if (inGap.length === 0) return fillTemplate(wording.gap, { ...lines });
		const added = inGap.reduce((sum, file) => sum + file.added, 0);
		const removed = inGap.reduce((sum, file) => sum + file.removed, 0);
		const template = isNamed && inGap.length === 1 ? wording.gapOfFile : wording.gapOfFiles;
		return fillTemplate(template, { ...lines, added, removed, files: inGap.length });
	};
}

/** Scores the lines of a diff: the lines of each hunk, changed lines before context. */
export function scoreDiff(units: TextUnits, features: LineFeatures, { kinds, ranks }: ReadDiff): Float32Array {
	const priority = scoreLines(units, features, { isEven: true });
	const textOf = (unit: number) => unitText(units, unit).slice(0, 400).replace(numbered, "");
	for (const [unit, kind] of kinds.entries()) {
		const own = priority[unit] as number;
		const rank = ranks[unit] as number;
		if (kind === "commit") priority[unit] = Math.max(own, commitName.test(textOf(unit)) ? worth.commit : 0);
		else if (kind === "head") priority[unit] = worth.hunk;
		else if (kind === "other") priority[unit] = worth.other;
		else if (rank > 0) priority[unit] = (own * (kind === "changed" ? 1 : worth.context)) / (1 + rank / evenness);
	}
	return priority;
}
