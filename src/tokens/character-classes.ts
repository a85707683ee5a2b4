import { characterClassRuns } from "./character-class-runs.ts";

/** Capital and title case letters. */
export const upper = 1;
/** Small letters. */
export const lower = 2;
/** Letters without case: the patterns let them stand among capitals and among small letters. */
export const caseless = 4;
export const mark = 8;
export const number = 16;
/** White space except line feed and carriage return. */
export const space = 32;
export const lineEnd = 64;
export const symbol = 128;

export const letter = upper | lower | caseless;
export const white = space | lineEnd;

/** Stands behind the last byte, and nowhere in UTF-8: every run ends there, whatever its class. */
export const endOfBytes = 0xff;

const byLetter = new Map<string, number>([
	["U", upper],
	["L", lower],
	["B", caseless],
	["M", mark],
	["N", number],
	["W", space],
	["E", lineEnd],
	["S", symbol],
]);

const classes = new Uint8Array(0x110000).fill(symbol);

/** The class of an ASCII byte; 0 for every other byte, `endOfBytes` included. */
export const byteClasses = new Uint8Array(256);

/**
 * The class that 64 characters of three bytes share, whose first two bytes are these; 0 where they differ. It is small
 * enough to stay in the cache, and most of Chinese and Korean needs no other.
 */
const blockClasses = new Uint8Array(1 << 10);

readRuns();

function readRuns(): void {
	let codePoint = 0;
	for (const [, name = "", length] of characterClassRuns.matchAll(/([A-Z])([0-9a-z]*)/g)) {
		const end = codePoint + (length === "" || length === undefined ? 1 : Number.parseInt(length, 36));
		classes.fill(byLetter.get(name) ?? symbol, codePoint, end);
		codePoint = end;
	}
	byteClasses.set(classes.subarray(0, 128));
	for (let block = 0; block < blockClasses.length; block++) {
		const sharing = classes.subarray(block << 6, (block + 1) << 6);
		const [first = 0] = sharing;
		if (sharing.every((kind) => kind === first)) blockClasses[block] = first;
	}
}

/** The end of the characters of these classes from `start` on, as far as they are of three bytes and share their blocks. */
export function blocksEnd(bytes: Uint8Array, start: number, kinds: number): number {
	let end = start;
	for (let first = bytes[end] as number; first >= 0xe0 && first < 0xf0; first = bytes[end] as number) {
		const block = ((first & 0x0f) << 6) | ((bytes[end + 1] as number) & 0x3f);
		if (((blockClasses[block] as number) & kinds) === 0) break;
		end += 3;
	}
	return end;
}

/** The class of the character that starts at `at`, or 0 at `endOfBytes`. */
export function classAt(bytes: Uint8Array, at: number): number {
	const first = bytes[at] as number;
	if (first < 0x80) return classes[first] as number;
	const second = (bytes[at + 1] as number) & 0x3f;
	if (first < 0xe0) return classes[((first & 0x1f) << 6) | second] as number;
	const third = (bytes[at + 2] as number) & 0x3f;
	if (first < 0xf0) return classes[((first & 0x0f) << 12) | (second << 6) | third] as number;
	if (first === endOfBytes) return 0;
	return classes[((first & 0x07) << 18) | (second << 12) | (third << 6) | ((bytes[at + 3] as number) & 0x3f)] as number;
}

/** Number of bytes of the character that starts at `at`. */
export function widthAt(bytes: Uint8Array, at: number): number {
	const first = bytes[at] as number;
	if (first < 0x80) return 1;
	if (first < 0xe0) return 2;
	return first < 0xf0 ? 3 : 4;
}
