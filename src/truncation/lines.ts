import { numberIdentifiers } from "../masking/identifiers.ts";
import { type FocusWords, focusFinder } from "./focus.ts";
import { characterEdge, countOf } from "./head-tail.ts";

/** Lines longer than this are cut into pieces, in characters, so that a part of them can be kept. */
const longestWholeLine = 1_000;
/** Longest piece of such a line, in characters. */
const longestPiece = 320;

/**
 * What is kept or left out at once: a line without its line feed, a stretch between carriage returns (the states of a
 * progress bar), or a piece of a line over 1 000 characters. Half-open ranges of characters, in order.
 */
export interface Units {
	readonly chars: number;
	readonly count: number;
	readonly start: ArrayLike<number>;
	readonly end: ArrayLike<number>;
	/** Number of the line that each unit is of, from 1. */
	readonly line: ArrayLike<number>;
	/** Lines in all; what follows a last line feed is one only where it is not empty. */
	readonly lines: number;
	/** The characters of a range that starts with a unit, up to the first that is not held. */
	readonly slice: (start: number, end: number) => string;
	/** Whether the characters of a unit are at hand: not those of a gap in a text that was read piece by piece. */
	readonly isHeld: (unit: number) => boolean;
	/** Whether the first unit goes on with a line that began before the text. */
	readonly isContinued: boolean;
}

export interface TextUnits extends Units {
	readonly text: string;
}

/** Cuts a text into units, from a place on, in time in proportion to the text. */
export function textUnits(text: string, from = 0, isContinued = false): TextUnits {
	const room = countUnits(text);
	const [start, end, line] = [new Uint32Array(room), new Uint32Array(room), new Uint32Array(room)];
	let count = 0;
	let number = 0;
	const add = (from: number, to: number) => {
		start[count] = from;
		end[count] = to;
		line[count] = number;
		count += 1;
	};
	const addStretch = (from: number, to: number) => {
		if (to - from <= longestWholeLine) {
			add(from, to);
			return;
		}
		for (let piece = from; piece < to; ) {
			const pieceEnd = to - piece <= longestPiece ? to : endOfPiece(text, piece);
			add(piece, pieceEnd);
			piece = pieceEnd;
		}
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
			addStretch(stretch, found + 1);
			stretch = found + 1;
		}
		addStretch(stretch, to);
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
	};
}

export function unitText({ slice, start, end }: Units, unit: number): string {
	return slice(start[unit] as number, end[unit] as number);
}

function countUnits(text: string): number {
	return 1 + countOf(text, "\n") + countOf(text, "\r") + Math.ceil((text.length / longestPiece) * 4);
}

/** Ends a piece behind white space or punctuation where there is any in its second half. */
function endOfPiece(text: string, start: number): number {
	// JSON spells the line ends of an output that it carries.
	const lineEnd = text.slice(start, start + longestPiece).lastIndexOf("\\n");
	if (lineEnd > longestPiece / 2) return start + lineEnd + 2;
	for (let at = start + longestPiece; at > start + longestPiece / 2; at -= 1) {
		const unit = text.charCodeAt(at - 1);
		if ((unit === 32 || unit === 44 || unit === 59 || unit === 125) && text.charCodeAt(at) < 0x300) return at;
	}
	return Math.max(characterEdge(text, start, start + longestPiece), start + 1);
}

/** What tells of each unit of a text how much it is wanted, one number for each. */
export interface LineFeatures {
	/** Weights of the focus words in it, rare ones weighing more. */
	readonly focus: Float32Array;
	/** The units that hold a name of the focus which few others hold. */
	readonly named: readonly number[];
	/** Identifiers that stand nowhere before it. */
	readonly fresh: Float32Array;
	/** 1 where it says nothing by itself: blank, or closing brackets. */
	readonly bare: Float32Array;
	/** White space before it, in columns, tabs being four; 40 at most. */
	readonly indent: Float32Array;
	/** 1 where it assigns, calls or returns: a statement rather than words. */
	readonly acts: Float32Array;
	/** 1 where an earlier one differs from it in digits, bars and blanks at most. */
	readonly repeated: Float32Array;
	/** Characters without white space around them. */
	readonly length: Float32Array;
}

/** Weight of a whole name among the words of a focus, and the most lines that can hold it for it to single them out. */
const [wholeName, mostNamed] = [2, 3];
/** The number that a tool puts before a line of a file. */
const lineNumber = /^\s{0,8}\d{1,7}(?:→|\t|:|\|)/;
const statement = /[\w)\]]\(|[^=!<>]=[^=]|^\s*return\b/;
const bareLine = /^[\s)\]}>,;'"`]*$/;
const deepestIndent = 40;

/** Reads the features of each unit, or of those with a priority, in time in proportion to the text. */
export function lineFeatures(units: TextUnits, focus: FocusWords, priority?: Float32Array): LineFeatures {
	const make = () => new Float32Array(units.count);
	const features = {
		focus: make(),
		fresh: make(),
		bare: make(),
		indent: make(),
		acts: make(),
		repeated: make(),
		length: make(),
	};
	const found = new Map<string, number>();
	const matches: string[][] = [];
	const wordsIn = focusFinder(focus);
	const identifiers = numberIdentifiers();
	let numbered = 0;
	const patterns = new Set<number>();
	for (let unit = 0; unit < units.count; unit += 1) {
		if (priority !== undefined && priority[unit] === 0) {
			features.bare[unit] = 1;
			continue;
		}
		const line = unitText(units, unit).replace(lineNumber, "");
		if (bareLine.test(line)) {
			features.bare[unit] = 1;
			continue;
		}
		const pattern = linePattern(units.text, units.start[unit] as number, units.end[unit] as number);
		if (patterns.has(pattern)) features.repeated[unit] = 1;
		else patterns.add(pattern);
		features.indent[unit] = indentOf(line);
		features.length[unit] = line.trim().length;
		if (statement.test(line)) features.acts[unit] = 1;
		// Numbers are given in order.
		const fresh = identifiers.numbersIn([line]).filter((one) => one >= numbered).length;
		features.fresh[unit] = fresh;
		numbered += fresh;
		const here = wordsIn(line);
		if (here.length === 0) continue;
		matches[unit] = here;
		for (const one of here) found.set(one, (found.get(one) ?? 0) + 1);
	}
	matches.forEach((here, unit) => {
		const rarity = (one: string) => Math.log(1 + units.count / (found.get(one) ?? 1)) / Math.log(1 + units.count);
		features.focus[unit] = here.reduce((sum, one) => sum + (focus.get(one) ?? 0) * rarity(one), 0);
	});
	const isNamed = (one: string) => (focus.get(one) ?? 0) >= wholeName && (found.get(one) ?? 0) <= mostNamed;
	const named: number[] = [];
	matches.forEach((here, unit) => {
		if (here.some(isNamed)) named.push(unit);
	});
	return { ...features, named };
}

function indentOf(line: string): number {
	let indent = 0;
	for (const character of line) {
		if (character === "\t") indent += 4;
		else if (character === " ") indent += 1;
		else break;
	}
	return Math.min(indent, deepestIndent);
}

/** Characters over which the start of a text counts more. */
const frontReach = 16_000;
/** Characters under which a line counts as short. */
const shortLine = 20;

/**
 * What tells of a line being used later: the square root of the identifiers that stand nowhere before it; words of the
 * focus in it, rare ones weighing more, as a share of the most that any line holds; whether it assigns, calls or returns
 * something; how near it is to the margin, 1 there; how near to the start of the text, 1 there and falling over 16 000
 * characters; whether it differs from an earlier one in digits and bars at most; whether it is shorter than 20
 * characters; the logarithm of its length.
 */
export const signNames = ["fresh", "focus", "acts", "outer", "front", "repeated", "short", "length"] as const;

/** What each sign adds to the logarithm of what a line is worth. */
export type LineWeights = Readonly<Record<(typeof signNames)[number], number>>;

/**
 * Found by Poisson regression, with a ridge, of the strings that an agent takes from a line later on, over the results of
 * real conversations: test/real/truncate-cross-validation.test.ts finds them on one half and tells what they keep of the
 * other. Shrunk by a fifth, so that the choice is less bold than the estimate.
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

/** Shares of the room that are kept from the start and the end, whatever stands there: the more room, the more at the start. */
export const endShares = { head: (maxChars: number) => Math.min(0.4, 0.06 + maxChars / 60_000), tail: 0.04 };
/** What lines around one that is named by the focus are worth, from two before it on. */
const namedWorth = [0, 0.25, 1, 0.5, 0.25];
const namedBefore = 2;

interface LineJudgement {
	/** Leaves out the place in the text, as in texts of many equal parts. */
	readonly isEven?: boolean;
	readonly weights?: LineWeights;
}

/**
 * How much each unit is wanted, as a share of the most wanted one: how many strings are likely to be taken from it later,
 * by what stands in it. 0 for what says nothing by itself.
 */
export function scoreLines(
	units: TextUnits,
	features: LineFeatures,
	{ isEven = false, weights = lineWeights }: LineJudgement = {},
): Float32Array {
	const { count } = units;
	const signsOf = lineSigns(units, features, isEven);
	const factors = signNames.map((name) => weights[name]);
	const scores = new Float32Array(count);
	let top = 0;
	for (let unit = 0; unit < count; unit += 1) {
		if (features.bare[unit] === 1) continue;
		const signs = signsOf(unit);
		let sum = 0;
		for (let index = 0; index < factors.length; index += 1)
			sum += (factors[index] as number) * (signs[index] as number);
		const worth = Math.exp(sum);
		scores[unit] = worth;
		if (worth > top) top = worth;
	}
	if (top > 0) for (let unit = 0; unit < count; unit += 1) scores[unit] = (scores[unit] as number) / top;
	raiseNamed(scores, features);
	return scores;
}

/** Reads the signs of a unit, in the order of `signNames`, into the same array again and again. */
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

/** Raises the lines that name what the focus names and few others do, and those behind and before them. */
function raiseNamed(scores: Float32Array, { named, bare }: LineFeatures): void {
	for (const unit of named) {
		for (const [index, more] of namedWorth.entries()) {
			const near = unit + index - namedBefore;
			if (near < 0 || near >= scores.length || bare[near] === 1) continue;
			scores[near] = Math.max(scores[near] as number, more);
		}
	}
}

const worth = { header: 1_000, row: 1, focus: 20 };
/** Rows over which the start and the end of a table count more. */
const edgeRows = 30;

/** Judges the lines of a table: its header, the rows that have to do with the focus, the first and the last rows. */
export function scoreTable(units: TextUnits, features: LineFeatures | undefined): Float32Array {
	const { count, line } = units;
	const most = features ? features.focus.reduce((sum, one) => Math.max(sum, one), 0) : 0;
	return Float32Array.from({ length: count }, (_, unit) => {
		if (line[unit] === 1) return worth.header;
		const edge = 2 * Math.exp(-unit / edgeRows) + Math.exp(-(count - 1 - unit) / edgeRows);
		const found = most > 0 && features ? (features.focus[unit] as number) / most : 0;
		return worth.row * (0.1 + edge) + worth.focus * found ** 2;
	});
}

const longestRead = 240;

/**
 * A number for what a line has in common with lines that differ in digits, bars and blanks alone: repeated messages with
 * a time, the states of a progress bar. Equal for such lines; 0 for a blank one.
 */
export function linePattern(text: string, start: number, end: number): number {
	const until = Math.min(end, start + longestRead);
	let hash = 0x811c9dc5;
	let before = 0;
	let signs = 0;
	for (let at = start; at < until; at += 1) {
		const unit = text.charCodeAt(at);
		const sign = signOf(unit);
		if (sign === 0 || (sign === before && sign < 4)) continue;
		hash = Math.imul(hash ^ (sign < 4 ? sign : unit), 0x01000193);
		before = sign < 4 ? sign : 0;
		signs += 1;
	}
	return signs === 0 ? 0 : (hash | 1) >>> 0;
}

/** 0 blank, 1 digits and what stands in numbers, 2 bars, 3 other drawing; 4 for what counts as it is. */
function signOf(unit: number): 0 | 1 | 2 | 3 | 4 {
	if (unit === 32 || unit === 9 || unit === 13) return 0;
	if ((unit >= 48 && unit <= 57) || unit === 46) return 1;
	if (unit === 35 || unit === 61 || unit === 62 || unit === 45 || unit === 95) return 2;
	if (unit >= 0x2500 && unit <= 0x28ff) return 2;
	return 4;
}

/** Longest stretch given to the library at once, in characters: some of its patterns take quadratic time. */
const longestStretch = 4_096;
/** How far before the end of a stretch an escape sequence is looked for that it would split. */
const longestSequence = 64;

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const escapeCharacter = /[\u001b\u009b]/;

/**
 * Takes the escape sequences of terminals (ECMA-48: colours, movements, titles) out of a text, line by line, so that
 * its lines keep their numbers. `strip` is the library's function. Takes time in proportion to the text.
 */
export function stripEscapes(text: string, strip: (text: string) => string): string {
	if (!escapeCharacter.test(text)) return text;
	const parts: string[] = [];
	for (let from = 0; from < text.length; ) {
		const newline = text.indexOf("\n", from);
		const lineEnd = newline === -1 ? text.length : newline + 1;
		let to = Math.min(lineEnd, from + longestStretch);
		if (to < lineEnd) {
			const sequence = text.lastIndexOf("\u001b", to - 1);
			if (sequence > from && to - sequence < longestSequence) to = sequence;
		}
		const stretch = text.slice(from, to);
		parts.push(escapeCharacter.test(stretch) ? strip(stretch) : stretch);
		from = to;
	}
	return parts.join("");
}
