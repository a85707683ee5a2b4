import { byteClasses, lineEnd, lower, number, symbol, upper, white } from "./character-classes.ts";

/**
 * Splits plain pieces of ASCII one table look-up for each byte: the entry at a state plus a byte is the next state. The
 * state `ended` says that the piece ended before that byte, `unclear` that this table cannot tell: at a byte that is not
 * ASCII or is `endOfBytes`, at runs of white space and at contractions.
 */
export type AsciiPieces = Uint16Array;

export const ended = 0xff00;
export const unclear = 0xff01;

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
const end = 11 << 8;

const apostrophe = 0x27;
const slash = 0x2f;

export function createAsciiPieces(pattern: AsciiPattern): AsciiPieces {
	const next = new Uint16Array(end).fill(unclear);
	for (let byte = 0; byte < 128; byte++) {
		const kind = byteClasses[byte] as number;
		const word = (kind & upper) !== 0 ? capitals : (kind & lower) !== 0 ? smallLetters : undefined;
		const row = (kind & lineEnd) !== 0 ? lineEnds : undefined;
		const run = (kind & symbol) !== 0 ? symbols : undefined;
		const digit = (kind & number) !== 0;
		const unlessWhite = (kind & white) !== 0 ? unclear : ended;
		const afterWord = byte === apostrophe && pattern.contractsWords ? unclear : ended;
		const alone = byte === apostrophe && !pattern.contractsWords ? unclear : firstSymbol;
		const first = (kind & symbol) !== 0 ? alone : byte === 32 ? blank : row === undefined ? otherSpace : unclear;

		next[start | byte] = word ?? (digit ? oneDigit : first);
		next[blank | byte] = word ?? run ?? unlessWhite;
		next[otherSpace | byte] = word ?? unlessWhite;
		next[firstSymbol | byte] = word ?? run ?? row ?? ended;
		next[symbols | byte] = run ?? row ?? ended;
		next[lineEnds | byte] = row ?? (byte === slash && pattern.slashesAfterLineEnds ? lineEnds : ended);
		next[capitals | byte] = word ?? afterWord;
		next[smallLetters | byte] = word === capitals && pattern.splitsAtCapitals ? ended : (word ?? afterWord);
		next[oneDigit | byte] = digit ? twoDigits : ended;
		next[twoDigits | byte] = digit ? threeDigits : ended;
	}
	return next.fill(ended, threeDigits);
}
