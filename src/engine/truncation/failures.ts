import { firstReaching } from "../conversation/lists.ts";
import type { CharRange } from "./draft.ts";
import { failureSign, isMention, isTotalLine } from "./failure-signs.ts";
import { failuresInString } from "./json-in-strings.ts";
import { type JsonSpans, valueKinds } from "./json-spans.ts";
import { type TextUnits, type Units, unitText } from "./lines.ts";

/**
 * Why a line comes first: it has the form of a failure; it has that form but may be code or prose; it follows a failure; it
 * has the totals of a run; it contains a word of failure; it is unlike all others.
 */
type FirstKind = "failure" | "doubtful" | "behind" | "totals" | "likely" | "odd";

/** Units `from` to `to`, both included. `match` reports the failure. All of the kind may take `share` of the room. */
export interface FirstLine {
	readonly kind: FirstKind;
	readonly share: number;
	readonly from: number;
	readonly to: number;
	readonly match: number;
}

/**
 * The kind of a text, which decides how much room failures get: a log; other output of programs; code and prose, which
 * mention errors that did not happen; or the output of a command that has failed.
 */
export type FailureSource = "log" | "output" | "written" | "failed";

/** The most lines of each kind that come first, and their share of the room. `behind` limits the failures they follow. */
type Portions = Readonly<Record<FirstKind, readonly [most: number, share: number]>>;

const all = Number.POSITIVE_INFINITY;
const none = [0, 0] as const;
const ofOutput: Portions = {
	failure: [all, 0.5],
	doubtful: none,
	behind: [20, 0.1],
	totals: [6, 0.15],
	likely: [12, 0.15],
	odd: [8, 0.05],
};
const portionsOf: Readonly<Record<FailureSource, Portions>> = {
	log: { failure: [8, 0.35], doubtful: none, behind: none, totals: [6, 0.15], likely: [4, 0.1], odd: [4, 0.1] },
	output: ofOutput,
	written: { failure: [all, 0.25], doubtful: [4, 0.1], behind: [20, 0.05], totals: none, likely: none, odd: none },
	failed: { ...ofOutput, failure: [all, 0.6] },
};
const linesBehind = 3;
/** Whether each unit reports a failure: 0 no, 1 by a word, 2 by its form. */
export type FailureSigns = Uint8Array;
export const [byWord, byForm] = [1, 2] as const;

const aroundPiece = 60;

export function failureSigns(units: TextUnits): FailureSigns {
	const { text, count, start, end } = units;
	const signs = new Uint8Array(count);
	let isOfNext = false;
	for (const unit of signs.keys()) {
		const [from, to] = [start[unit] as number, end[unit] as number];
		const [isLater, goesOn] = [isPiece(units, unit), isPiece(units, unit + 1)];
		if (!goesOn && !isLater) {
			signs[unit] = numberOfSign[failureSign(text.slice(from, to))];
			continue;
		}
		const behind = goesOn ? text.slice(to, to + aroundPiece).split("\n", 1)[0] : "";
		const own = text.slice(isLater ? Math.max(0, from - aroundPiece) : from, to);
		signs[unit] = signOfPiece(own + behind, isLater);
		// A sign in the text after a piece belongs to the next piece.
		if (isLater && isOfNext && signs[unit] === signs[unit - 1]) signs[unit - 1] = 0;
		isOfNext = goesOn && signs[unit] !== 0 && signOfPiece(own, isLater) === 0;
	}
	return signs;
}

const numberOfSign = { sure: byForm, likely: byWord, none: 0 } as const;

/**
 * The sign of a piece of a long line. An ellipsis marks that it is not the start of the line. An output inside JSON has its
 * line ends escaped, so the text between two of them is read as a line.
 */
function signOfPiece(read: string, isLater: boolean): number {
	const lines = read.split("\\n");
	if (lines.slice(1, -1).some((line) => failureSign(line) === "sure")) return byForm;
	return numberOfSign[failureSign(isLater ? `…${read}` : read)];
}

function isPiece(units: Units, unit: number): boolean {
	if (unit === 0) return units.isContinued;
	return units.line[unit] === units.line[unit - 1] && !unitText(units, unit - 1).endsWith("\r");
}

/** The lines that report failures, the most important first. */
export function failuresFirst(units: Units, signs: FailureSigns, source: FailureSource): FirstLine[] {
	const portions = portionsOf[source];
	const found: FirstLine[] = [];
	const taken = new Set<number>();
	const textOf = (unit: number) => unitText(units, unit);
	const add = (kind: FirstKind, match: number) => {
		const line = lineOf(units, match);
		// The first failure keeps its long line, the others only their pieces.
		const isPart = taken.has(line.from);
		if (taken.has(match) || (isPart && kind === "behind")) return;
		taken.add(line.from).add(match);
		found.push({ kind, share: portions[kind][1], match, ...(isPart ? { from: match, to: match } : line) });
	};
	const take = (kind: FirstKind, matches: readonly number[]) => {
		for (const match of matches.slice(0, portions[kind][0])) add(kind, match);
	};
	const isDoubtful = (unit: number) => source === "written" && (isPiece(units, unit) || isMention(textOf(unit)));
	const ordered = orderFailures(distinct(unitsWith(signs, byForm), textOf), textOf);
	const failures = ordered.filter((unit) => !isDoubtful(unit));
	take("failure", failures);
	take("doubtful", ordered.filter(isDoubtful));
	for (const unit of failures.slice(0, portions.behind[0])) {
		const { to } = lineOf(units, unit);
		for (let behind = to + 1; behind <= to + linesBehind; behind += 1) {
			// So is the text after the last unit.
			if (textOf(behind).trim() === "") break;
			add("behind", behind);
		}
	}
	// In a log with certain failures, the other lines are chosen by their score.
	if (source === "log" && failures.length > 0) return found;
	if (portions.totals[0] > 0) take("totals", orderFailures(distinct(totalUnits(units), textOf), textOf));
	// A single name, as in a list of files, reports nothing.
	const likely = unitsWith(signs, byWord).filter((unit) => /\S\s+\S/.test(textOf(unit)));
	take("likely", orderFailures(distinct(likely, textOf), textOf));
	take("odd", oddUnits(units));
	return found;
}

function unitsWith(signs: FailureSigns, sign: number): number[] {
	const found: number[] = [];
	for (const [unit, one] of signs.entries()) if (one === sign) found.push(unit);
	return found;
}

function lineOf({ line }: Units, unit: number): { readonly from: number; readonly to: number } {
	let [from, to] = [unit, unit];
	while (line[from - 1] === line[unit]) from -= 1;
	while (line[to + 1] === line[unit]) to += 1;
	return { from, to };
}

function totalUnits(units: Units): number[] {
	return Array.from({ length: units.count }, (_, unit) => unit).filter(
		(unit) => units.isHeld(unit) && !units.encoded.has(unit) && isTotalLine(unitText(units, unit)),
	);
}

/**
 * The frames of progress bars that a later frame of the same kind replaces on the screen: the text between two carriage
 * returns, without lines that report failures.
 */
export function passedFrames(units: Units, signs: FailureSigns): ReadonlySet<number> {
	const passed = new Set<number>();
	const { line, count } = units;
	for (let unit = 0; unit + 1 < count; unit += 1) {
		if (line[unit] !== line[unit + 1] || signs[unit] === byForm || !units.isHeld(unit)) continue;
		const text = unitText(units, unit);
		if (!text.endsWith("\r")) continue;
		const kind = frameKind(text);
		const next = frameKind(unitText(units, unit + 1));
		if (text.trim() === "" || kind === next || (kind !== "" && next.startsWith(kind))) passed.add(unit);
	}
	return passed;
}

/** A frame up to its first number, without the signs of a spinner. */
function frameKind(frame: string): string {
	return /^[^\d]*/.exec(frame.slice(0, 200).replace(/^[\s|/\\\-\u2500-\u28ff]+/, ""))?.[0].trim() ?? "";
}

/** The first of the units that differ only in times. */
function distinct(units: readonly number[], textOf: (unit: number) => string): number[] {
	const seen = new Set<string>();
	return units.filter((unit) => seen.size < seen.add(withoutTimes(textOf(unit))).size);
}

/** A line without the parts that differ between repetitions: times, durations, addresses, sizes. */
export function withoutTimes(line: string): string {
	return line
		.slice(0, 400)
		.replace(
			/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[\d.,:+Z-]*|\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?|0x[0-9a-f]+|\b\d+(?:\.\d+)?\s?(?:ms|s|m|min|MB|kB|%)(?![a-z])/gi,
			"#",
		)
		.trim();
}

/** A word is rare if at most this many lines contain it, or this share of them. */
const rare = { lines: 2, share: 0.02 };

/**
 * Orders lines that may report failures: first those with rare words, because words of hundreds of lines belong to the
 * style of the log or to one repeated failure. Both groups begin with their first and last line and continue inwards.
 */
function orderFailures<Line>(lines: readonly Line[], textOf: (line: Line) => string): Line[] {
	const words = lines.map((line) => wordHashes(textOf(line)));
	const counts = new Map<number, number>();
	for (const word of words.flat()) counts.set(word, (counts.get(word) ?? 0) + 1);
	const mostRare = Math.max(rare.lines, lines.length * rare.share);
	const isUnlike = (_: Line, index: number) => mostlyRare(words[index] as number[], counts, mostRare);
	const unlike = fromBothEnds(lines.filter(isUnlike));
	const alike = fromBothEnds(lines.filter((line, index) => !isUnlike(line, index)));
	return [...unlike.slice(0, 2), ...alike.slice(0, 2), ...unlike.slice(2), ...alike.slice(2)];
}

export function mostlyRare(words: readonly number[], counts: ReadonlyMap<number, number>, most: number): boolean {
	return words.filter((word) => (counts.get(word) ?? 0) <= most).length >= words.length / 2;
}

function fromBothEnds<Line>(lines: readonly Line[]): Line[] {
	return lines.map((_, index) => lines[index % 2 === 0 ? index / 2 : lines.length - 1 - (index - 1) / 2] as Line);
}

const longestCounted = 300;
const hashOfNothing = 0x811c9dc5;

/** Hashes of the words of a line that have two letters or more. */
export function wordHashes(line: string): number[] {
	const hashes = new Set<number>();
	const until = Math.min(line.length, longestCounted);
	let [hash, letters] = [hashOfNothing, 0];
	for (let at = 0; at <= until; at += 1) {
		const unit = at < until ? line.charCodeAt(at) | 32 : 0;
		if (unit >= 97 && unit <= 122) {
			hash = Math.imul(hash ^ unit, 0x01000193);
			letters += 1;
			continue;
		}
		if (letters >= 2) hashes.add(hash);
		[hash, letters] = [hashOfNothing, 0];
	}
	return [...hashes];
}

/** A text is even if it has this many lines, and this share of them begins with one of three words. */
const evenText = { lines: 50, share: 0.9, words: 3 };

/** The lines of an even text (progress, steps, list items) whose first word is rare. */
function oddUnits(units: Units): number[] {
	const wordOf = (unit: number) => /\p{L}{2,24}/u.exec(unitText(units, unit).slice(0, 120))?.[0];
	const first = Array.from({ length: units.count }, (_, unit) => wordOf(unit));
	const counts = new Map<string, number>();
	for (const word of first) if (word !== undefined) counts.set(word, (counts.get(word) ?? 0) + 1);
	const most = [...counts.values()].sort((a, b) => b - a);
	const linesOf = (words: readonly number[]) => words.reduce((sum, one) => sum + one, 0);
	const lines = linesOf(most);
	if (lines < evenText.lines || linesOf(most.slice(0, evenText.words)) < lines * evenText.share) return [];
	return first.flatMap((word, unit) => (word !== undefined && (counts.get(word) as number) <= 3 ? [unit] : []));
}

const longestWithKey = 80;
const longestLine = 1_200;

export interface JsonFailures {
	/** The rank of the most important failure in a value, from 0; `undefined` if there is none. */
	readonly rankOf: (value: number) => number | undefined;
	readonly linesOf: (value: number) => readonly CharRange[];
	/** The string, number or word with the most important failure in a value; the value itself if there is none. */
	readonly leafOf: (value: number) => number;
	/** All such values, the most important first. */
	readonly leaves: readonly number[];
}

/**
 * Finds the failures in lines of strings, in keys with their values, such as a level, a status, an exit code or a counter,
 * and in what is under a key such as `errors`.
 */
export function jsonFailures(spans: JsonSpans): JsonFailures {
	const { text, kind, start, end, keyStart, keyEnd, next } = spans;
	const isSure = (line: string) => failureSign(line) === "sure";
	const lines = new Map<number, CharRange[]>();
	const leaves: number[] = [];
	/** The end of a value under a key that names failures, until its first leaf is found. */
	let named = -1;
	/** The objects and lists around a value. */
	const around: number[] = [];
	const hasKey = (value: number, key: string) => {
		let child = value + 1;
		for (let count = 0; child < (next[value] as number) && count < mostKeysRead; count += 1) {
			if (text.slice(keyStart[child], keyEnd[child]) === key) return true;
			child = next[child] as number;
		}
		return false;
	};
	for (const [value, one] of kind.entries()) {
		while (around.length > 0 && (next[around.at(-1) as number] as number) <= value) around.pop();
		const [from, to] = [start[value] as number, end[value] as number];
		const key = text.slice(keyStart[value], keyEnd[value]);
		const isString = one === valueKinds.string;
		if (!isString && one !== valueKinds.other) {
			around.push(value);
			if (failingKey.test(key)) named = next[value] as number;
			continue;
		}
		const inside = isString ? text.slice(from + 1, to - 1) : "";
		const within = failuresInString(inside, from + 1, jsonFailures);
		const isRead = isString && within.length === 0;
		const found = isRead ? linesOfString(inside, from + 1).filter(({ line }) => isSure(line)) : [];
		const spelled = key !== "" && key.length + to - from <= longestWithKey ? text.slice(from, to) : "";
		const isNamed = value < named && to - from > 2 && spelled !== "null" && spelled !== "false" && spelled !== "0";
		const isNumber = () =>
			/^[1-9]\d{0,8}$/.test(spelled) && (countsFailures(key) || isSevere(key, spelled, hasKey, around.at(-1) ?? 0));
		if (within.length > 0) {
			lines.set(value, within);
			leaves.push(value);
		} else if (found.length > 0) {
			const ordered = orderFailures(found, ({ line }) => line).map(({ range }) => range);
			lines.set(value, ordered);
			leaves.push(value);
		} else if (isNamed || (spelled !== "" && (isSure(`${key}:${spelled}`) || isNumber()))) leaves.push(value);
		if (isNamed || lines.has(value)) named = -1;
	}
	const textOf = (leaf: number) => {
		const line = lines.get(leaf)?.[0];
		return line === undefined ? text.slice(keyStart[leaf], end[leaf]) : text.slice(line.start, line.end);
	};
	const ordered = orderFailures(leaves, textOf);
	const ranks = new Map(ordered.map((leaf, rank) => [leaf, rank]));
	const placeOf = (value: number) => firstReaching(0, leaves.length, (index) => (leaves[index] as number) >= value);
	const rankOf = (value: number): number | undefined => {
		let best: number | undefined;
		const until = placeOf(next[value] as number);
		for (let index = placeOf(value); index < until; index += 1) {
			best = Math.min(best ?? leaves.length, ranks.get(leaves[index] as number) as number);
		}
		return best;
	};
	return {
		rankOf,
		linesOf: (value) => lines.get(value) ?? [],
		leafOf: (value) => ordered[rankOf(value) ?? -1] ?? value,
		leaves: ordered,
	};
}

/** Keys of an object that are searched for the one that tells the scale of a severity. */
const mostKeysRead = 40;

/** A key whose values are failures, if there are any. */
const failingKey = /^"(?:err|errors?|failures?|failure_?messages?|exceptions?|crash|faults?)"$/i;
const failureWords =
	/^(?:errors?|fail(?:s|ed|ing|ures?)?|fatals?|broken|crashes|crashed|unexpected|unreachable|vulnerabilities)$/;
const countedWords =
	/^(?:n|num|number|of|total|totals|counts?|tests?|suites?|cases?|specs?|assertions?|checks?|examples?|scenarios?|files?|jobs?|tasks?|steps?|runs?|runtime|fixable|fatal|by)$/;

/** Whether a key with a positive number counts failures: `errorCount`, `numFailedTests`, `tests_failed`; not `maxErrors`. */
function countsFailures(key: string): boolean {
	const words = key
		.slice(1, -1)
		.replace(/([a-z\d])([A-Z])/g, "$1 $2")
		.toLowerCase()
		.split(/[^a-z\d]+/);
	return (
		words.some((word) => failureWords.test(word)) &&
		words.every((word) => failureWords.test(word) || countedWords.test(word))
	);
}

/** Whether a number is the severity of an error: 2 beside a rule of ESLint, 1 beside a range of the language server protocol. */
function isSevere(
	key: string,
	number: string,
	hasKey: (value: number, key: string) => boolean,
	object: number,
): boolean {
	if (!/^"severity"$/i.test(key)) return false;
	return (number === "2" && hasKey(object, '"ruleId"')) || (number === "1" && hasKey(object, '"range"'));
}

/** The lines of the inside of a string, with their places in a text where it is at `offset`. */
function linesOfString(inside: string, offset: number): { readonly line: string; readonly range: CharRange }[] {
	const lines: { line: string; range: CharRange }[] = [];
	let start = 0;
	const add = (end: number, behind: number) => {
		const line = unescaped(inside.slice(start, Math.min(end, start + longestLine)));
		lines.push({ line, range: { start: offset + start, end: offset + behind } });
	};
	for (let at = inside.indexOf("\\"); at !== -1; at = inside.indexOf("\\", at)) {
		const sign = inside[at + 1];
		at += 2;
		if (sign !== "n" && sign !== "r") continue;
		add(at - 2, at);
		start = at;
	}
	add(inside.length, inside.length);
	return lines;
}

function unescaped(spelling: string): string {
	try {
		return JSON.parse(`"${spelling}"`);
	} catch {
		// It may end inside an escape.
		return spelling;
	}
}
