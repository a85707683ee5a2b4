import {
	byteClasses,
	classAt,
	endOfBytes,
	lineEnd,
	mark,
	number,
	symbol,
	white,
	widthAt,
} from "./character-classes.ts";

/**
 * Returned in place of a piece's end where the bytes at hand do not decide it: more have to be read first. Every
 * function here takes `limit`, the end of the bytes at hand, or `noLimit` once the text ends there.
 */
export const undecided = -1;
export const noLimit = 2 ** 31 - 1;

/** `'s`, `'t`, `'re`, `'ve`, `'m`, `'ll` or `'d` in any case, which takes in U+017F, the long s. */
const longestContraction = 3;

// V8 reads imported constants from memory each time, and these are of the loops.
const inWhite = white;
const atLineEnd = lineEnd;
const inSymbols = symbol;
const inSymbolsWithMarks = symbol | mark;

/** `\p{N}{1,3}` */
export function numberEnd(bytes: Uint8Array, start: number, limit: number): number {
	let end = start;
	for (let digits = 0; digits < 3; digits++) {
		if ((classAt(bytes, end) & number) === 0) return end >= limit ? undecided : end;
		end += widthAt(bytes, end);
	}
	return end;
}

/** `[^\s\p{L}\p{N}]+` and then line ends, and slashes among them where `slash` is that byte. */
export function symbolsEnd(bytes: Uint8Array, start: number, limit: number, slash: number): number {
	let end = start;
	for (;;) {
		while (((byteClasses[bytes[end] as number] as number) & inSymbols) !== 0) end++;
		if ((bytes[end] as number) < 0x80 || (classAt(bytes, end) & inSymbolsWithMarks) === 0) break;
		end += widthAt(bytes, end);
	}
	for (let byte = bytes[end] as number; byte === 10 || byte === 13 || byte === slash; byte = bytes[end] as number)
		end++;
	return end >= limit ? undecided : end;
}

/**
 * `\s*[\r\n]+|\s+(?!\S)|\s+`: up to the last line end of the run; without one, up to the last character, which is left
 * to what follows it; all of it at the end of the text or where it is one character.
 */
export function whiteEnd(bytes: Uint8Array, start: number, limit: number): number {
	let end = start;
	let last = start;
	let lineEnded = undecided;
	for (let kind = classAt(bytes, end); (kind & inWhite) !== 0; kind = classAt(bytes, end)) {
		last = end;
		end += widthAt(bytes, end);
		if ((kind & atLineEnd) !== 0) lineEnded = end;
	}
	if (end >= limit) return undecided;
	if (lineEnded !== undecided) return lineEnded;
	return last === start || bytes[end] === endOfBytes ? end : last;
}

/** The end of the contraction that starts at `start`, or `start` where none does. */
export function contractionEnd(bytes: Uint8Array, start: number, limit: number): number {
	if (bytes[start] !== 0x27) return start >= limit ? undecided : start;
	if (start + longestContraction >= limit) return undecided;
	const first = bytes[start + 1] as number;
	switch (first | 0x20) {
		case 0x73:
		case 0x74:
		case 0x6d:
		case 0x64:
			return start + 2;
		case 0x72:
		case 0x76:
			return ((bytes[start + 2] as number) | 0x20) === 0x65 ? start + 3 : start;
		case 0x6c:
			return ((bytes[start + 2] as number) | 0x20) === 0x6c ? start + 3 : start;
	}
	return first === 0xc5 && bytes[start + 2] === 0xbf ? start + 3 : start;
}
