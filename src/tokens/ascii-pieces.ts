import { byteClasses, lineEnd, lower, number, space, symbol, upper } from "./character-classes.ts";

/**
 * Splits plain pieces of ASCII one table look-up for each byte: the entry at a state plus a byte is the next state. The
 * state `ended` says that the piece ended before that byte, and those above it that it ended elsewhere or that this table
 * cannot tell: see `endedEarlier`.
 */
export type AsciiPieces = Uint16Array;

export const ended = 0xff00;
const endedOneBefore = ended + 1;
const endedTwoBefore = ended + 2;
const endedAtLine = ended + 3;
/** At a byte that is not ASCII or is `endOfBytes`, and at contractions that stand alone. */
export const unclear = ended + 4;

/** The end of the piece that came to a state between `ended` and `unclear` at the byte at `end`. */
export function endedEarlier(bytes: Uint8Array, state: number, end: number): number {
	if (state !== endedAtLine) return end - (state - ended);
	// White space up to its last line end, which is left to look for: another might have followed.
	let line = end - 1;
	while (((byteClasses[bytes[line - 1] as number] as number) & lineEnd) === 0) line--;
	return line;
}

/** What the patterns of the two encodings differ in, as far as plain pieces go. */
export interface AsciiPattern {
	/** A capital behind a small letter starts a new piece. */
	readonly splitsAtCapitals: boolean;
	/** An apostrophe behind a word may be part of its piece. */
	readonly contractsWords: boolean;
	/** Slashes go on with the line ends behind symbols. */
	readonly slashesAfterLineEnds: boolean;
}

// A state is the place of its 256 entries; pieces start in the first.
const start = 0 << 8;
const blank = 1 << 8;
const otherSpace = 2 << 8;
const firstSymbol = 3 << 8;
const symbols = 4 << 8;
const lineEnds = 5 << 8;
const capitals = 6 << 8;
const smallLetters = 7 << 8;
const oneDigit = 8 << 8;
const twoDigits = 9 << 8;
const threeDigits = 10 << 8;
const spaces = 11 << 8;
const whiteLine = 12 << 8;
const whiteAfterLine = 13 << 8;
const contraction = 14 << 8;
const contractionOfE = 15 << 8;
const contractionOfL = 16 << 8;
const wholeContraction = 17 << 8;
const end = 18 << 8;

const apostrophe = 0x27;
const slash = 0x2f;
// 's, 't, 'm, 'd, 're, 've and 'll.
const contractions = [
	[contraction, 0x73, wholeContraction],
	[contraction, 0x74, wholeContraction],
	[contraction, 0x6d, wholeContraction],
	[contraction, 0x64, wholeContraction],
	[contraction, 0x72, contractionOfE],
	[contraction, 0x76, contractionOfE],
	[contraction, 0x6c, contractionOfL],
	[contractionOfE, 0x65, wholeContraction],
	[contractionOfL, 0x6c, wholeContraction],
] as const;

export function createAsciiPieces(pattern: AsciiPattern): AsciiPieces {
	const next = new Uint16Array(end).fill(unclear);
	for (let byte = 0; byte < 128; byte++) {
		const kind = byteClasses[byte] as number;
		const word = (kind & upper) !== 0 ? capitals : (kind & lower) !== 0 ? smallLetters : undefined;
		const row = (kind & lineEnd) !== 0 ? lineEnds : undefined;
		const run = (kind & symbol) !== 0 ? symbols : undefined;
		const digit = (kind & number) !== 0;
		const whiteRun = (kind & space) !== 0 ? spaces : row === undefined ? undefined : whiteLine;
		const afterLine = whiteRun === spaces ? whiteAfterLine : whiteRun;
		const afterWord = byte === apostrophe && pattern.contractsWords ? contraction : ended;
		const alone = byte === apostrophe && !pattern.contractsWords ? unclear : firstSymbol;
		const first = (kind & symbol) !== 0 ? alone : byte === 32 ? blank : row === undefined ? otherSpace : whiteLine;

		next[start | byte] = word ?? (digit ? oneDigit : first);
		next[blank | byte] = word ?? run ?? whiteRun ?? ended;
		next[otherSpace | byte] = word ?? whiteRun ?? ended;
		next[spaces | byte] = whiteRun ?? endedOneBefore;
		next[whiteLine | byte] = afterLine ?? ended;
		next[whiteAfterLine | byte] = afterLine ?? endedAtLine;
		next[firstSymbol | byte] = word ?? run ?? row ?? ended;
		next[symbols | byte] = run ?? row ?? ended;
		next[lineEnds | byte] = row ?? (byte === slash && pattern.slashesAfterLineEnds ? lineEnds : ended);
		next[capitals | byte] = word ?? afterWord;
		next[smallLetters | byte] = word === capitals && pattern.splitsAtCapitals ? ended : (word ?? afterWord);
		next[oneDigit | byte] = digit ? twoDigits : ended;
		next[twoDigits | byte] = digit ? threeDigits : ended;
		next[contraction | byte] = endedOneBefore;
		next[contractionOfE | byte] = endedTwoBefore;
		next[contractionOfL | byte] = endedTwoBefore;
	}
	for (const [state, byte, after] of contractions) {
		next[state | byte] = after;
		next[state | (byte - 32)] = after;
	}
	return next.fill(ended, threeDigits, spaces).fill(ended, wholeContraction);
}
