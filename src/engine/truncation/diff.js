import { fillTemplate } from "../masking/template.js";
import { scoreLines } from "./line-worth.js";
import { indentOf, unitText } from "./lines.js";

/** Worth compared with 1 for the best changed line. */
const worth = { commit: 0.3, other: 0.05, context: 0.75 };
/** Lines after which the worth of a hunk halves, so that all hunks are cut evenly. */
const evenness = 60;
/** Longest run of lines that is chosen as one. */
const longestRun = 8;
/** Characters of the mark before a run. */
const gapChars = 30;
/** The runs that share the cost of a head, because a hunk and a file have several. */
const runsUnderHead = 2;
const longestRead = 400;
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
/** Reads the files and hunks of a diff. A hunk ends where its head says, so `-- x` removed in one is not a header. */
export function readDiff(units) {
	const { count, line } = units;
	const parent = new Int32Array(count).fill(-1);
	const ranks = new Uint32Array(count);
	const kinds = [];
	const files = [];
	let file;
	let head = -1;
	/** Lines that the head of the hunk announces; -1 if it announces none. */
	let [before, after, rank] = [0, 0, 0];
	const textAt = (unit) => (unit < count ? textOf(units, unit) : "");
	const startFile = (unit) => {
		file = { from: unit, to: count, name: unit, isEmpty: true, added: 0, removed: 0 };
		files.push(file);
		head = -1;
	};
	const endFile = (unit) => {
		if (file !== undefined) file.to = unit;
		file = undefined;
		head = -1;
	};
	for (let unit = 0; unit < count; unit += 1) {
		if (unit > 0 && line[unit] === line[unit - 1]) {
			// A piece of a long line is what the line is.
			kinds.push(kinds[unit - 1]);
			ranks[unit] = ranks[unit - 1];
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
			kinds.push("commit");
		} else if (!isAnnounced && hunkHead.test(text)) {
			const announced = lineCounts.exec(text);
			[before, after] = announced ? [Number(announced[1] ?? 1), Number(announced[2] ?? 1)] : [-1, -1];
			[head, rank] = [unit, 0];
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
			kinds.push(file === undefined ? "context" : "other");
		}
	}
	return { kinds, ranks, files, parent };
}
function isLoneName(line, next) {
	return line.startsWith("+++ ") && hunkHead.test(next);
}
/** The heads that lines need, and the marks of gaps, which say how many lines each file changes. */
export function outlineOfDiff({ units, diff, priority, wording }) {
	const { files, parent } = diff;
	const lines = { from: units.lines, to: units.lines };
	const total = {
		added: files.reduce((sum, { added }) => sum + added, 0),
		removed: files.reduce((sum, { removed }) => sum + removed, 0),
	};
	const plain = fillTemplate(wording.gap, lines).length;
	const lengthOf = (template, values) => fillTemplate(template, { ...lines, ...values }).length - plain;
	const names = files.map((file) => nameOf(units, file));
	return {
		parent,
		runs: runsOf(units, diff, priority),
		namesChars: files.reduce((sum, file, index) => {
			const asOwn = lengthOf(wording.gapOfFile, file);
			return sum + Math.max(asOwn, lengthOf(wording.gapOfNames, { files: entryOf(names[index], file) }));
		}, 0),
		countChars: Math.max(
			lengthOf(wording.gapOfFile, total),
			lengthOf(wording.gapOfFiles, { ...total, files: files.length }),
		),
		startMarks: (listsNames) => markGaps({ files, names, wording, listsNames }),
	};
}
/** The lines of a diff as runs of one kind in one hunk, by worth per character with their heads, the best first. */
function runsOf(units, { kinds, parent }, priority) {
	const charsOf = (unit) => units.end[unit] - units.start[unit] + 1;
	const runs = [];
	for (const [unit, kind] of kinds.entries()) {
		if (priority[unit] === 0 || kind === "head") continue;
		let run = runs.at(-1);
		const last = run?.lines.at(-1) ?? -2;
		const goesOn = last === unit - 1 && kinds[last] === kind && parent[last] === parent[unit];
		if (run === undefined || !goesOn || run.lines.length === longestRun) {
			run = { lines: [], worth: 0, chars: gapChars };
			for (let head = parent[unit]; head !== -1; head = parent[head]) {
				run.chars += charsOf(head) / runsUnderHead;
				// The head of a hunk may name its function.
				if (parent[head] !== -1) run.worth += priority[head];
			}
			runs.push(run);
		}
		run.lines.push(unit);
		run.worth += priority[unit];
		run.chars += charsOf(unit);
	}
	return runs.sort((a, b) => b.worth / b.chars - a.worth / a.chars).map(({ lines }) => lines);
}
function nameOf(units, { name }) {
	const line = textOf(units, name).trimEnd();
	const named =
		/^diff -.* (\S+)$/.exec(line)?.[1] ?? line.replace(/^(?:[-+]{3} |Index: |\*\*\* \w+ File:? |Only in )/, "");
	return named.replace(/\t.*$/, "").replace(/^[ab]\//, "");
}
function entryOf(name, { added, removed }) {
	return `${name} +${added} -${removed}`;
}
/**
 * Returns a function that writes the mark of each gap, in order. The first gap in a file says how many lines the file
 * changes. Files that are omitted as a whole are named, or counted if there is no room for their names.
 */
function markGaps({ files, names, wording, listsNames }) {
	let next = 0;
	return (from, to, lines) => {
		while (next < files.length && files[next].to <= from) next += 1;
		const first = next;
		while (next < files.length && files[next].name < to) next += 1;
		const inGap = files.slice(first, next);
		if (inGap.length === 0) return fillTemplate(wording.gap, { ...lines });
		const added = inGap.reduce((sum, file) => sum + file.added, 0);
		const removed = inGap.reduce((sum, file) => sum + file.removed, 0);
		if (inGap.length === 1 && inGap[0].name < from) {
			return fillTemplate(wording.gapOfFile, { ...lines, added, removed });
		}
		const listed = inGap.map((file, index) => entryOf(names[first + index], file)).join(", ");
		return listsNames
			? fillTemplate(wording.gapOfNames, { ...lines, files: listed })
			: fillTemplate(wording.gapOfFiles, { ...lines, added, removed, files: inGap.length });
	};
}
/** Scores the lines of a diff: the lines of each hunk, changed lines before context. */
export function scoreDiff(units, features, { kinds, ranks }) {
	// The sign of a line of a hunk is not an indent.
	const indent = features.indent.map((own, unit) => (ranks[unit] > 0 ? indentOf(textOf(units, unit).slice(1)) : own));
	const priority = scoreLines(units, { ...features, indent }, { isEven: true });
	for (const [unit, kind] of kinds.entries()) {
		const own = priority[unit];
		const rank = ranks[unit];
		if (kind === "commit") priority[unit] = Math.max(own, commitName.test(textOf(units, unit)) ? worth.commit : 0);
		else if (kind === "other") priority[unit] = worth.other;
		else if (rank > 0) priority[unit] = (own * (kind === "changed" ? 1 : worth.context)) / (1 + rank / evenness);
	}
	return priority;
}
/** The start of a line, without the number before it. */
function textOf(units, unit) {
	return unitText(units, unit).slice(0, longestRead).replace(numbered, "");
}
