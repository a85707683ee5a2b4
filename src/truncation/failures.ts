import type { CharRange } from "./draft.ts";
import { failureSign } from "./failure-signs.ts";
import { type JsonSpans, valueKinds } from "./json-spans.ts";
import { type TextUnits, type Units, unitText } from "./lines.ts";

/**
 * Why a line comes first: it tells of a failure by its form; so does it, but it may be code or prose; it stands behind one
 * that does; it holds a word of failure; it is unlike all others.
 */
type FirstKind = "failure" | "doubtful" | "behind" | "likely" | "odd";

/**
 * A line that is kept before any other: units `from` to `to` (included), of which `match` tells of the failure. `share` is
 * the share of the room that lines of its kind may take together.
 */
export interface FirstLine {
	readonly kind: FirstKind;
	readonly share: number;
	readonly from: number;
	readonly to: number;
	readonly match: number;
}

/**
 * What a text is, for the room that failures get in it: a log, whose other failures are chosen by what stands in them; other
 * output of programs; code and prose, which speak of errors without any having happened; or the output of a command that
 * is known to have failed.
 */
export type FailureSource = "log" | "output" | "written" | "failed";

/** How many lines of each kind come first at most (of failures, behind how many), and in which share of the room. */
type Portions = Readonly<Record<FirstKind, readonly [most: number, share: number]>>;

const all = Number.POSITIVE_INFINITY;
const none = [0, 0] as const;
const portionsOf: Readonly<Record<FailureSource, Portions>> = {
	log: { failure: [8, 0.35], doubtful: none, behind: none, likely: [4, 0.1], odd: [4, 0.1] },
	output: { failure: [all, 0.5], doubtful: none, behind: [20, 0.1], likely: [12, 0.15], odd: [8, 0.05] },
	written: { failure: [all, 0.25], doubtful: [4, 0.1], behind: [20, 0.05], likely: none, odd: none },
	failed: { failure: [all, 0.6], doubtful: none, behind: [20, 0.1], likely: [12, 0.15], odd: [8, 0.05] },
};
/** Lines behind a failure that are kept with it. */
const linesBehind = 3;
/** What a line of code ends or starts with: it tells what is done where an error comes, not that one came. */
const ofCode =
	/[;{}(,]\s*$|^\s*(?:\d+(?:→|\t|: ?|\| ?))?\s*(?:\/\/|\/\*|\*\s|#include|@\w+|import\b|from\b|export\b|const\b|let\b|var\b|def\b|class\b|func\b|fn\b|function\b|return\b|if\b|for\b|while\b|throw\b|raise\b|public\b|private\b)/;

/** An entry of a list, a heading, a quotation, words in bold, or a long sentence. */
const ofProse =
	/^\s*(?:\d+(?:→|\t|: ?|\| ?))?\s*(?:[-*+>]\s|#{1,6}\s|\d{1,3}\. |\*\*|\|)|^.{120,}[a-z)`"'][.!?:]["')*]*\s*$/;

/** How surely each unit tells of a failure: 0 not at all, 1 by a word, 2 by its form. */
export type FailureSigns = Uint8Array;
export const [byWord, byForm] = [1, 2] as const;

/** Characters around a piece of a long line that are read with it. */
const aroundPiece = 60;

/** Reads the signs of all units, in time in proportion to the text. */
export function failureSigns(units: TextUnits): FailureSigns {
	const { text, count, start, end, line } = units;
	const signs = new Uint8Array(count);
	for (let unit = 0; unit < count; unit += 1) {
		const [from, to] = [start[unit] as number, end[unit] as number];
		if (to - from < 2) continue;
		const goesOn = line[unit + 1] === line[unit] && isPiece(units, unit + 1);
		const isLater = isPiece(units, unit);
		if (!goesOn && !isLater) {
			signs[unit] = numberOfSign[failureSign(text.slice(from, to))];
			continue;
		}
		const before = isLater
			? text
					.slice(Math.max(0, from - aroundPiece), from)
					.split("\n")
					.at(-1)
			: "";
		const behind = goesOn ? text.slice(to, to + aroundPiece).split("\n", 1)[0] : "";
		signs[unit] = signOfPiece(before + text.slice(from, to) + behind, isLater);
	}
	return signs;
}

const numberOfSign = { sure: byForm, likely: byWord, none: 0 } as const;

/**
 * The sign of a piece of a long line. An ellipsis keeps it from passing for the start of a line. JSON spells the line ends
 * of an output that it carries, so a text between two of them is read as a line.
 */
function signOfPiece(read: string, isLater: boolean): number {
	const lines = read.split("\\n");
	if (lines.slice(1, -1).some((line) => failureSign(line) === "sure")) return byForm;
	return numberOfSign[failureSign(isLater ? `…${read}` : read)];
}

/** Whether a unit goes on with a line that was cut into pieces. */
function isPiece(units: Units, unit: number): boolean {
	if (unit === 0) return units.isContinued;
	return units.line[unit] === units.line[unit - 1] && !unitText(units, unit - 1).endsWith("\r");
}

/** The lines that tell of failures, those first that are wanted most. */
export function failuresFirst(units: Units, signs: FailureSigns, source: FailureSource): FirstLine[] {
	const portions = portionsOf[source];
	const found: FirstLine[] = [];
	const taken = new Set<number>();
	const textOf = (unit: number) => unitText(units, unit);
	const add = (kind: FirstKind, match: number) => {
		const line = lineOf(units, match);
		// Of a long line that tells of several failures, all but the first are kept in pieces.
		const isPart = taken.has(line.from);
		if (taken.has(match) || (isPart && kind === "behind")) return;
		taken.add(line.from).add(match);
		found.push({ kind, share: portions[kind][1], match, ...(isPart ? { from: match, to: match } : line) });
	};
	const take = (kind: FirstKind, matches: readonly number[]) => {
		for (const match of matches.slice(0, portions[kind][0])) add(kind, match);
	};
	const isDoubtful = (unit: number) =>
		source === "written" && (isPiece(units, unit) || ofCode.test(textOf(unit)) || ofProse.test(textOf(unit)));
	const ordered = orderFailures(distinct(unitsWith(signs, byForm), textOf), textOf);
	const failures = ordered.filter((unit) => !isDoubtful(unit));
	take("failure", failures);
	take("doubtful", ordered.filter(isDoubtful));
	for (const unit of failures.slice(0, portions.behind[0])) {
		const { to } = lineOf(units, unit);
		for (let behind = to + 1; behind <= to + linesBehind && behind < units.count; behind += 1) {
			if (textOf(behind).trim() === "") break;
			add("behind", behind);
		}
	}
	// In a log that tells of failures by their form, the others are chosen by what stands in them.
	if (source === "log" && failures.length > 0) return found;
	if (portions.likely[0] > 0) {
		// A name alone, as in a list of files, tells of nothing.
		const likely = unitsWith(signs, byWord).filter((unit) => /\S\s+\S/.test(textOf(unit)));
		take("likely", orderFailures(distinct(likely, textOf), textOf));
	}
	if (portions.odd[0] > 0) take("odd", oddUnits(units));
	return found;
}

function unitsWith(signs: FailureSigns, sign: number): number[] {
	const found: number[] = [];
	for (let unit = 0; unit < signs.length; unit += 1) if (signs[unit] === sign) found.push(unit);
	return found;
}

function lineOf({ line, count }: Units, unit: number): { readonly from: number; readonly to: number } {
	let [from, to] = [unit, unit];
	while (from > 0 && line[from - 1] === line[unit]) from -= 1;
	while (to < count - 1 && line[to + 1] === line[unit]) to += 1;
	return { from, to };
}

/** The first of those that say the same, times aside. */
function distinct(units: readonly number[], textOf: (unit: number) => string): number[] {
	const seen = new Set<string>();
	return units.filter((unit) => {
		const said = withoutTimes(textOf(unit));
		if (seen.has(said)) return false;
		seen.add(said);
		return true;
	});
}

/** A line without what differs from one time to the next: times, durations, addresses, process numbers. */
export function withoutTimes(line: string): string {
	return line
		.slice(0, 400)
		.replace(
			/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[\d.,:+Z-]*|\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?|0x[0-9a-f]+|\b\d+(?:\.\d+)?\s?(?:ms|s|m|min|MB|kB|%)(?![a-z])/gi,
			"#",
		)
		.trim();
}

/** Lines that are looked at to tell which words are common among failures. */
const mostCounted = 20_000;
/** A word is rare that no more than two lines hold, or no more than this share of them. */
const rare = { lines: 2, share: 0.02 };

/**
 * Orders lines that may tell of failures: those first whose words few of the others hold, for what hundreds of lines say is
 * a style of the log, or one failure said again and again. Of both kinds the first and the last lead, and the others follow
 * from both ends.
 */
function orderFailures<Line>(lines: readonly Line[], textOf: (line: Line) => string): Line[] {
	const step = Math.max(1, Math.floor(lines.length / mostCounted));
	const counts = new Map<number, number>();
	let counted = 0;
	for (let index = 0; index < lines.length; index += step) {
		counted += 1;
		for (const word of wordHashes(textOf(lines[index] as Line))) counts.set(word, (counts.get(word) ?? 0) + 1);
	}
	const mostRare = Math.max(rare.lines, counted * rare.share);
	const [unlike, alike]: [Line[], Line[]] = [[], []];
	for (const line of lines) {
		const words = wordHashes(textOf(line));
		const few = words.filter((word) => (counts.get(word) ?? 0) <= mostRare).length;
		(few >= words.length / 2 ? unlike : alike).push(line);
	}
	const [ofUnlike, ofAlike] = [fromBothEnds(unlike), fromBothEnds(alike)];
	return [...ofUnlike.slice(0, 2), ...ofAlike.slice(0, 2), ...ofUnlike.slice(2), ...ofAlike.slice(2)];
}

function fromBothEnds<Line>(lines: readonly Line[]): Line[] {
	return lines.map((_, index) => lines[index % 2 === 0 ? index / 2 : lines.length - 1 - (index - 1) / 2] as Line);
}

/** Characters of a line whose words are counted. */
const longestCounted = 300;

/** Numbers that stand for the words of a line, of two letters or more; equal for equal words. */
export function wordHashes(line: string): number[] {
	const hashes = new Set<number>();
	const until = Math.min(line.length, longestCounted);
	let [hash, letters] = [0, 0];
	for (let at = 0; at <= until; at += 1) {
		const unit = at < until ? line.charCodeAt(at) | 32 : 0;
		if (unit >= 97 && unit <= 122) {
			hash = Math.imul(hash ^ unit, 0x01000193);
			letters += 1;
			continue;
		}
		if (letters >= 2) hashes.add(hash);
		[hash, letters] = [0x811c9dc5, 0];
	}
	return [...hashes];
}

/** From so many lines on, of which so many begin with one of three words, a line that begins otherwise stands out. */
const evenText = { lines: 50, share: 0.9, words: 3 };

/** Lines of an even text (progress, steps, entries of a list) that begin as hardly any other does. */
function oddUnits(units: Units): number[] {
	const counts = new Map<string, number>();
	const first: string[] = [];
	let lines = 0;
	for (let unit = 0; unit < units.count; unit += 1) {
		const [word = ""] = /[\p{L}]{2,24}/u.exec(unitText(units, unit).slice(0, 120)) ?? [];
		first.push(word);
		if (word === "") continue;
		lines += 1;
		counts.set(word, (counts.get(word) ?? 0) + 1);
	}
	const usual = [...counts.values()].sort((a, b) => b - a).slice(0, evenText.words);
	if (lines < evenText.lines || usual.reduce((sum, one) => sum + one, 0) < lines * evenText.share) return [];
	return first.flatMap((word, unit) => (word !== "" && (counts.get(word) ?? 0) <= 3 ? [unit] : []));
}

const longestWithKey = 80;
const longestLine = 1_200;

/** Where in a JSON text failures are told. */
export interface JsonFailures {
	/** How much a value is wanted for the failures that it holds: 0 most of all; `undefined` where it holds none. */
	readonly rankOf: (value: number) => number | undefined;
	/** The lines of a string that tell of failures, those wanted most first: places in the text, line ends included. */
	readonly linesOf: (value: number) => readonly CharRange[];
	/** The value without parts that holds the failure wanted most in a value that holds one. */
	readonly leafOf: (value: number) => number;
}

/**
 * Finds the failures that values of a JSON text tell of: lines of its strings, and keys with their values, such as a level,
 * a status or an exit code.
 */
export function jsonFailures({ text, kind, start, end, keyStart, keyEnd, next }: JsonSpans): JsonFailures {
	const isSure = (line: string) => failureSign(line) === "sure";
	const lines = new Map<number, CharRange[]>();
	const leaves: number[] = [];
	for (let value = 0; value < kind.length; value += 1) {
		const isString = kind[value] === valueKinds.string;
		if (!isString && kind[value] !== valueKinds.other) continue;
		const [from, to] = [start[value] as number, end[value] as number];
		const found = isString ? linesOfString(text, from + 1, to - 1).filter((line) => isSure(line.said)) : [];
		const key = (keyEnd[value] as number) - (keyStart[value] as number);
		const withKey = () => `${text.slice(keyStart[value], keyEnd[value])}:${text.slice(from, to)}`;
		if (found.length > 0) {
			const told = orderFailures(found, ({ said }) => said);
			lines.set(
				value,
				told.map(({ range }) => range),
			);
			leaves.push(value);
		} else if (key > 0 && key + to - from <= longestWithKey && isSure(withKey())) leaves.push(value);
	}
	const ranks = new Map<number, number>();
	const saidBy = (leaf: number) => {
		const [first] = lines.get(leaf) ?? [];
		return text.slice(first?.start ?? keyStart[leaf], first?.end ?? end[leaf]);
	};
	for (const [rank, leaf] of orderFailures(leaves, saidBy).entries()) ranks.set(leaf, rank);
	const bestIn = (value: number): number | undefined => {
		let best: number | undefined;
		for (let index = firstFrom(leaves, value); index < leaves.length; index += 1) {
			const leaf = leaves[index] as number;
			if (leaf >= (next[value] as number)) break;
			if (best === undefined || (ranks.get(leaf) as number) < (ranks.get(best) as number)) best = leaf;
		}
		return best;
	};
	return {
		rankOf(value) {
			const best = bestIn(value);
			return best === undefined ? undefined : ranks.get(best);
		},
		linesOf: (value) => lines.get(value) ?? [],
		leafOf: (value) => bestIn(value) ?? value,
	};
}

/** The place of the first of some numbers in order that is not below another. */
function firstFrom(numbers: readonly number[], least: number): number {
	let [low, high] = [0, numbers.length];
	while (low < high) {
		const middle = (low + high) >> 1;
		if ((numbers[middle] as number) < least) low = middle + 1;
		else high = middle;
	}
	return low;
}

/** The lines of a string as it is spelled: parted where it spells line ends. */
function linesOfString(text: string, from: number, to: number): { readonly said: string; readonly range: CharRange }[] {
	const lines: { said: string; range: CharRange }[] = [];
	let start = from;
	const add = (end: number, behind: number) => {
		if (end - start < 2) return;
		const spelled = text.slice(start, Math.min(end, start + longestLine));
		lines.push({ said: spelled.includes("\\") ? unescaped(spelled) : spelled, range: { start, end: behind } });
	};
	for (let at = text.indexOf("\\", from); at !== -1 && at < to; at = text.indexOf("\\", at)) {
		const sign = text[at + 1];
		at += 2;
		if (sign !== "n" && sign !== "r") continue;
		add(at - 2, at);
		start = at;
	}
	add(to, to);
	return lines;
}

function unescaped(spelled: string): string {
	try {
		return JSON.parse(`"${spelled}"`);
	} catch {
		// Cut inside an escape.
		return spelled.replace(/\\(.)/g, "$1");
	}
}
