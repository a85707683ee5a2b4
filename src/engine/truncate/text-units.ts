import { characterEdge } from "./character-edge.ts";

/** Lines longer than this are cut into pieces, in characters, so that a part of them can be kept. */
const longestWholeLine = 1_000;
/** Longest piece of such a line, in characters. */
const longestPiece = 320;

/**
 * What is kept or left out at once: a line without its line feed, a stretch between carriage returns (the states of a
 * progress bar), or a piece of a line over 1 000 characters. Half-open ranges of characters, in order.
 */
export interface TextUnits {
	readonly text: string;
	readonly count: number;
	readonly start: Uint32Array;
	readonly end: Uint32Array;
	/** Number of the line that each unit is of, from 1. */
	readonly line: Uint32Array;
	/** Lines in all; what follows a last line feed is one only where it is not empty. */
	readonly lines: number;
}

/** Cuts a text into units, in time in proportion to the text. */
export function textUnits(text: string): TextUnits {
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
	for (let from = 0; from < text.length; ) {
		const newline = text.indexOf("\n", from);
		const to = newline === -1 ? text.length : newline;
		number += 1;
		let stretch = from;
		// The carriage return of a line's own CR LF is part of the line.
		for (let found = returnFrom(stretch); found < to - 1; found = returnFrom(stretch)) {
			addStretch(stretch, found + 1);
			stretch = found + 1;
		}
		addStretch(stretch, to);
		from = to + 1;
	}
	return { text, count, start, end, line, lines: number };
}

export function unitText({ text, start, end }: TextUnits, unit: number): string {
	return text.slice(start[unit], end[unit]);
}

function countUnits(text: string): number {
	let lines = 1;
	for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) lines += 1;
	let returns = 0;
	for (let at = text.indexOf("\r"); at !== -1; at = text.indexOf("\r", at + 1)) returns += 1;
	return lines + returns + Math.ceil((text.length / longestPiece) * 4);
}

/** Ends a piece behind white space or punctuation where there is any in its second half. */
function endOfPiece(text: string, start: number): number {
	for (let at = start + longestPiece; at > start + longestPiece / 2; at -= 1) {
		const unit = text.charCodeAt(at - 1);
		if ((unit === 32 || unit === 44 || unit === 59 || unit === 125) && text.charCodeAt(at) < 0x300) return at;
	}
	return Math.max(characterEdge(text, start, start + longestPiece), start + 1);
}
