import { newIdentifierCounter } from "../masking/identifiers.ts";
import type { EncodedRange } from "./encoded.ts";
import { type FocusWords, focusFinder } from "./focus.ts";
import { characterEdge, countOf } from "./head-tail.ts";

/** Longer lines are split into pieces, so that a part of them can be kept. In characters. */
const longestWholeLine = 1_000;
const longestPiece = 320;

const carriageReturn = 13;

/**
 * The units of a text. A unit is kept or omitted as one: a line without its line feed, the text up to a carriage return and
 * those that follow it at once (a state of a progress bar), or a piece of a line over 1 000 characters. Ranges are half-open and in order.
 */
export interface Units {
	readonly chars: number;
	readonly count: number;
	readonly start: ArrayLike<number>;
	readonly end: ArrayLike<number>;
	readonly line: ArrayLike<number>;
	/** Number of lines. An empty line after the last line feed does not count. */
	readonly lines: number;
	/** The characters of a range that starts with a unit, up to the first that is not in memory. */
	readonly slice: (start: number, end: number) => string;
	/** Whether a unit is in memory. A stream does not hold the units of its gaps. */
	readonly isHeld: (unit: number) => boolean;
	readonly isContinued: boolean;
	/** Units of encoded bytes, which are never kept. */
	readonly encoded: ReadonlyMap<number, EncodedRange>;
}

export interface TextUnits extends Units {
	readonly text: string;
}

/** Splits a text into units. Each of the `encoded` ranges inside a long line becomes a unit. */
export function textUnits(
	text: string,
	from = 0,
	isContinued = false,
	ranges: readonly EncodedRange[] = [],
): TextUnits {
	const room =
		1 + countOf(text, "\n") + countOf(text, "\r") + Math.ceil((text.length / longestPiece) * 4) + 2 * ranges.length;
	const encoded = new Map<number, EncodedRange>();
	let nextRange = 0;
	const [start, end, line] = [new Uint32Array(room), new Uint32Array(room), new Uint32Array(room)];
	let count = 0;
	let number = 0;
	const addPieces = (from: number, to: number, isWhole: boolean) => {
		let piece = from;
		do {
			start[count] = piece;
			piece = isWhole || to - piece <= longestPiece ? to : endOfPiece(text, piece);
			end[count] = piece;
			line[count] = number;
			count += 1;
		} while (piece < to);
	};
	const add = (from: number, to: number) => {
		const isWhole = to - from <= longestWholeLine;
		let at = from;
		for (let range = ranges[nextRange]; range !== undefined && range.start < to; range = ranges[nextRange]) {
			nextRange += 1;
			if (isWhole || range.end > to) continue;
			if (range.start > at) addPieces(at, range.start, false);
			encoded.set(count, range);
			addPieces(range.start, range.end, true);
			at = range.end;
		}
		if (at < to || at === from) addPieces(at, to, isWhole);
	};
	let nextReturn = text.indexOf("\r");
	const returnFrom = (from: number) => {
		if (nextReturn !== -1 && nextReturn < from) nextReturn = text.indexOf("\r", from);
		return nextReturn === -1 ? text.length : nextReturn;
	};
	for (let at = from; at < text.length; ) {
		const newline = text.indexOf("\n", at);
		const to = newline === -1 ? text.length : newline;
		number += 1;
		let stretch = at;
		// The carriage return of a line's own CR LF is part of the line.
		for (let found = returnFrom(stretch); found < to - 1; found = returnFrom(stretch)) {
			while (found < to - 2 && text.charCodeAt(found + 1) === carriageReturn) found += 1;
			add(stretch, found + 1);
			stretch = found + 1;
		}
		add(stretch, to);
		at = to + 1;
	}
	return {
		text,
		chars: text.length,
		count,
		start,
		end,
		line,
		lines: number,
		slice: (first, behind) => text.slice(first, behind),
		isHeld: () => true,
		isContinued,
		encoded,
	};
}

export function unitText({ slice, start, end }: Units, unit: number): string {
	return slice(start[unit] as number, end[unit] as number);
}

function endOfPiece(text: string, start: number): number {
	// An output inside JSON has its line ends escaped.
	const lineEnd = text.slice(start, start + longestPiece).lastIndexOf("\\n");
	if (lineEnd > longestPiece / 2) return start + lineEnd + 2;
	for (let at = start + longestPiece; at > start + longestPiece / 2; at -= 1) {
		const unit = text.charCodeAt(at - 1);
		if ((unit === 32 || unit === 44 || unit === 59 || unit === 125) && text.charCodeAt(at) < 0x300) return at;
	}
	return characterEdge(text, start, start + longestPiece);
}

export interface LineFeatures {
	/** Sum of the weights of the focus words in it; rare words weigh more. */
	readonly focus: Float32Array;
	/** The units that contain a name of the focus which few others contain. */
	readonly named: readonly number[];
	/** Number of identifiers that no earlier unit contains. */
	readonly fresh: Float32Array;
	/** 1 if it has no information: blank, or closing brackets. */
	readonly bare: Float32Array;
	/** Columns of white space before it, tabs counting as four; 40 at most. */
	readonly indent: Float32Array;
	/** 1 if it assigns, calls or returns. */
	readonly acts: Float32Array;
	/** 1 if an earlier unit differs from it only in digits, bars and blanks. */
	readonly repeated: Float32Array;
	readonly length: Float32Array;
}

/** Weight of a whole name among the focus words, and the most units that contain a name which singles them out. */
const [wholeName, mostNamed] = [2, 3];
const lineNumber = /^\s{0,8}\d{1,7}(?:→|\t|:|\|)/;
const digitNine = 57;
const statement = /[\w)\]]\(|[^=!<>]=[^=]|^\s*return\b/;
const bareLine = /^[\s)\]}>,;'"`]*$/;
const deepestIndent = 40;

/** Reads the features of each unit; a unit of priority 0 counts as bare. */
export function lineFeatures(units: TextUnits, focus: FocusWords, priority?: Float32Array): LineFeatures {
	const { text, count, start, end } = units;
	const make = () => new Float32Array(count);
	const [fresh, bare, indent, acts, repeated, length] = [make(), make(), make(), make(), make(), make()];
	const matches: string[][] = [];
	const wordsIn = focusFinder(focus);
	const newIdentifiers = newIdentifierCounter();
	const patterns = new Set<number>();
	for (let unit = 0; unit < count; unit += 1) {
		const line =
			priority?.[unit] === 0 || units.encoded.has(unit) ? "" : withoutNumber(text.slice(start[unit], end[unit]));
		if (bareLine.test(line)) {
			bare[unit] = 1;
			continue;
		}
		const pattern = linePattern(text, start[unit] as number, end[unit] as number);
		if (patterns.has(pattern)) repeated[unit] = 1;
		else patterns.add(pattern);
		indent[unit] = indentOf(line);
		length[unit] = line.trim().length;
		if (mayAct(line) && statement.test(line)) acts[unit] = 1;
		fresh[unit] = newIdentifiers(line);
		const words = wordsIn(line);
		if (words.length > 0) matches[unit] = words;
	}
	return { ...focusFeatures(focus, matches, count), fresh, bare, indent, acts, repeated, length };
}

function withoutNumber(line: string): string {
	const first = line.charCodeAt(0);
	return first > digitNine ? line : line.replace(lineNumber, "");
}

/** A quick test before the pattern. */
function mayAct(line: string): boolean {
	return line.includes("(") || line.includes("=") || line.includes("return");
}

function focusFeatures(focus: FocusWords, matches: readonly string[][], count: number) {
	const found = new Map<string, number>();
	matches.forEach((words) => {
		for (const word of words) found.set(word, (found.get(word) ?? 0) + 1);
	});
	const weights = new Float32Array(count);
	const named: number[] = [];
	matches.forEach((words, unit) => {
		let sum = 0;
		for (const word of words) {
			const [weight, times] = [focus.get(word) ?? 0, found.get(word) as number];
			sum += weight * (Math.log(1 + count / times) / Math.log(1 + count));
			if (weight >= wholeName && times <= mostNamed && named.at(-1) !== unit) named.push(unit);
		}
		weights[unit] = sum;
	});
	return { focus: weights, named };
}

/** Columns of white space before a line, tabs counting as four; 40 at most. */
export function indentOf(line: string): number {
	let indent = 0;
	for (let at = 0; indent < deepestIndent; at += 1) {
		if (line[at] === "\t") indent += 4;
		else if (line[at] === " ") indent += 1;
		else break;
	}
	return Math.min(indent, deepestIndent);
}

/** Characters after which the start of a text weighs 1/e of its first character. */
const frontReach = 16_000;
const shortLine = 20;

/**
 * The signs that an agent will use a line later, from its features: the square root of its new identifiers; its focus
 * words, as a share of the largest sum; whether it acts; its closeness to the margin and to the start of the text, from 1
 * to 0; whether it is repeated; whether it is short; the logarithm of its length.
 */
export const signNames = ["fresh", "focus", "acts", "outer", "front", "repeated", "short", "length"] as const;

export type LineWeights = Readonly<Record<(typeof signNames)[number], number>>;

/**
 * The weights of a Poisson regression with a ridge: it predicts how many strings of a line an agent uses later, over the results of
 * real conversations. test/real/truncate-cross-validation.exhaustive.test.ts fits them on one half and tests them on the other. All
 * are reduced by a fifth, to be more careful than the estimate.
 */
export const lineWeights: LineWeights = {
	fresh: 0.67,
	focus: 0.54,
	acts: 0.26,
	outer: -0.72,
	front: 1.49,
	repeated: -1.47,
	short: -1.48,
	length: -0.24,
};

/** Returns a function that reads the signs of a unit in the order of `signNames`. All calls return the same array. */
export function lineSigns(
	units: TextUnits,
	features: LineFeatures,
	isEven = false,
): (unit: number) => Readonly<Float64Array> {
	const { focus, fresh, acts, indent, repeated, length } = features;
	const mostFocus = focus.reduce((most, one) => Math.max(most, one), 0) || 1;
	const signs = new Float64Array(signNames.length);
	return (unit) => {
		const chars = length[unit] as number;
		signs[0] = Math.sqrt(fresh[unit] as number);
		signs[1] = (focus[unit] as number) / mostFocus;
		signs[2] = acts[unit] as number;
		signs[3] = 1 / (1 + (indent[unit] as number) / 4);
		signs[4] = isEven ? 0 : Math.exp(-(units.start[unit] as number) / frontReach);
		signs[5] = repeated[unit] as number;
		signs[6] = chars < shortLine ? 1 : 0;
		signs[7] = Math.log1p(chars);
		return signs;
	};
}

const longestRead = 240;
/** Code units with a class in a pattern: 1 digits and points, 2 bars. Blanks (0) are ignored, other code units (4) are exact. */
const patternClasses = new Uint8Array(65_536).fill(4);
for (const character of " \t\r") patternClasses[character.charCodeAt(0)] = 0;
for (const character of "0123456789.") patternClasses[character.charCodeAt(0)] = 1;
for (const character of "#=>-_") patternClasses[character.charCodeAt(0)] = 2;
patternClasses.fill(2, 0x2500, 0x2900);

/** A hash that is equal for lines which differ only in digits, bars and blanks; 0 for a blank line. */
export function linePattern(text: string, start: number, end: number): number {
	const until = Math.min(end, start + longestRead);
	let [hash, before, isBlank] = [0x811c9dc5, 0, true];
	for (let at = start; at < until; at += 1) {
		const unit = text.charCodeAt(at);
		const sign = patternClasses[unit] as number;
		if (sign === 0 || (sign === before && sign < 4)) continue;
		hash = Math.imul(hash ^ (sign < 4 ? sign : unit), 0x01000193);
		before = sign;
		isBlank = false;
	}
	return isBlank ? 0 : (hash | 1) >>> 0;
}

/** Most characters that the library gets at once, because some of its patterns take quadratic time. */
const longestStretch = 4_096;
const longestSequence = 64;

// biome-ignore lint/suspicious/noControlCharactersInRegex: it searches for control characters.
const escapeCharacter = /[\u001b\u009b]/;

/** Removes escape sequences of terminals (ECMA-48) by a library, line by line, so that lines keep their numbers. */
export function stripEscapes(text: string, strip: (text: string) => string): string {
	if (!escapeCharacter.test(text)) return text;
	const parts: string[] = [];
	for (let from = 0; from < text.length; ) {
		const newline = text.indexOf("\n", from);
		const lineEnd = newline === -1 ? text.length : newline + 1;
		let to = Math.min(lineEnd, from + longestStretch);
		if (to < lineEnd) {
			const sequence = text.lastIndexOf("\u001b", to - 1);
			if (to - sequence < longestSequence) to = sequence;
		}
		const stretch = text.slice(from, to);
		parts.push(escapeCharacter.test(stretch) ? strip(stretch) : stretch);
		from = to;
	}
	return parts.join("");
}
