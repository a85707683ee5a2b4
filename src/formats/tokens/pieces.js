import * as classes from "./character-classes.js";

// V8 reads imported constants from memory each time.
const { upper, lower, caseless, mark, number, space, lineEnd, symbol, letter, white, endOfBytes, byteClasses } =
	classes;
const { blocksEnd, classAt, widthAt } = classes;
export const ended = 0xff00;
const endedOneBefore = ended + 1;
const endedTwoBefore = ended + 2;
const endedAtLine = ended + 3;
/** At a byte that is not ASCII, at `endOfBytes`, and at a contraction without a word. */
export const unclear = ended + 4;
/** The end of a piece in a state between `ended` and `unclear` at `end`. */
export function endedEarlier(bytes, state, end) {
	if (state !== endedAtLine) return end - (state - ended);
	let line = end - 1;
	while ((byteClasses[bytes[line - 1]] & lineEnd) === 0) line--;
	return line;
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
	[contraction, "stmdSTMD", wholeContraction],
	[contraction, "rvRV", contractionOfE],
	[contraction, "lL", contractionOfL],
	[contractionOfE, "eE", wholeContraction],
	[contractionOfL, "lL", wholeContraction],
];
export function createAsciiPieces(encoding) {
	// In o200k_base, a capital after a small letter starts a new piece, an apostrophe after a word may belong to its
	// piece, and slashes continue the line ends after symbols.
	const isO200k = encoding === "o200k_base";
	const next = new Uint16Array(end).fill(unclear);
	for (let byte = 0; byte < 128; byte++) {
		const kind = byteClasses[byte];
		const word = (kind & upper) !== 0 ? capitals : (kind & lower) !== 0 ? smallLetters : undefined;
		const row = (kind & lineEnd) !== 0 ? lineEnds : undefined;
		const run = (kind & symbol) !== 0 ? symbols : undefined;
		const digit = (kind & number) !== 0;
		const whiteRun = (kind & space) !== 0 ? spaces : row === undefined ? undefined : whiteLine;
		const afterLine = whiteRun === spaces ? whiteAfterLine : whiteRun;
		const afterWord = byte === apostrophe && isO200k ? contraction : ended;
		const alone = byte === apostrophe && !isO200k ? unclear : firstSymbol;
		const first = (kind & symbol) !== 0 ? alone : byte === 32 ? blank : row === undefined ? otherSpace : whiteLine;
		next[start | byte] = word ?? (digit ? oneDigit : first);
		next[blank | byte] = word ?? run ?? whiteRun ?? ended;
		next[otherSpace | byte] = word ?? whiteRun ?? ended;
		next[spaces | byte] = whiteRun ?? endedOneBefore;
		next[whiteLine | byte] = afterLine ?? ended;
		next[whiteAfterLine | byte] = afterLine ?? endedAtLine;
		next[firstSymbol | byte] = word ?? run ?? row ?? ended;
		next[symbols | byte] = run ?? row ?? ended;
		next[lineEnds | byte] = row ?? (byte === slash && isO200k ? lineEnds : ended);
		next[capitals | byte] = word ?? afterWord;
		next[smallLetters | byte] = word === capitals && isO200k ? ended : (word ?? afterWord);
		next[oneDigit | byte] = digit ? twoDigits : ended;
		next[twoDigits | byte] = digit ? threeDigits : ended;
		next[contraction | byte] = endedOneBefore;
		next[contractionOfE | byte] = endedTwoBefore;
		next[contractionOfL | byte] = endedTwoBefore;
	}
	for (const [state, letters, after] of contractions) {
		for (const byte of Buffer.from(letters)) next[state | byte] = after;
	}
	return next.fill(ended, threeDigits, spaces).fill(ended, wholeContraction);
}
// This pattern has no slashes after line ends.
const noSlash = -1;
const inO200kWord = letter | mark;
const beforeSmall = upper | caseless | mark;
const fromSmall = lower | caseless | mark;
const symbolOrMark = symbol | mark;
/**
 * The end of the piece at `start` by cl100k_base's pattern, or `undecided`.
 *
 *     (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}
 *     | ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
 *
 * This is the pattern of tiktoken 1.0.22 for JavaScript. Later versions for Python have `\s++$` before the line ends.
 */
export function cl100kPieceEnd(bytes, start, limit) {
	const first = classAt(bytes, start);
	if ((first & letter) !== 0) return lettersEnd(bytes, start, limit);
	if ((first & number) !== 0) return numberEnd(bytes, start, limit);
	if (bytes[start] === apostrophe) {
		const end = contractionEnd(bytes, start, limit);
		if (end !== start) return end;
	}
	if ((first & (space | symbol | mark)) !== 0) {
		const next = start + widthAt(bytes, start);
		const second = classAt(bytes, next);
		if ((second & letter) !== 0) return lettersEnd(bytes, next, limit);
		if ((first & space) === 0) return symbolsEnd(bytes, start, limit, noSlash);
		if ((second & (symbol | mark)) !== 0 && bytes[start] === 0x20) return symbolsEnd(bytes, next, limit, noSlash);
		if ((second & white) === 0 && second !== 0) return next;
	}
	return whiteEnd(bytes, start, limit);
}
function lettersEnd(bytes, start, limit) {
	let end = blocksEnd(bytes, start, letter);
	while ((classAt(bytes, end) & letter) !== 0) end = blocksEnd(bytes, end + widthAt(bytes, end), letter);
	return end >= limit ? undecided : end;
}
/**
 * The end of the piece at `start` by o200k_base's pattern, or `undecided`.
 *
 *     [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
 *     |[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
 *     |\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
 *
 * So a mark at the start always belongs to the word after it.
 */
export function o200kPieceEnd(bytes, start, limit) {
	const first = classAt(bytes, start);
	if ((first & inO200kWord) !== 0) return wordEnd(bytes, start, limit);
	if ((first & number) !== 0) return numberEnd(bytes, start, limit);
	if ((first & (space | symbol)) !== 0) {
		const next = start + widthAt(bytes, start);
		const second = classAt(bytes, next);
		if ((second & inO200kWord) !== 0) return wordEnd(bytes, next, limit);
		if ((first & symbol) !== 0) return symbolsEnd(bytes, start, limit, slash);
		if ((second & symbol) !== 0 && bytes[start] === 0x20) return symbolsEnd(bytes, next, limit, slash);
		if ((second & white) === 0 && second !== 0) return next;
	}
	return whiteEnd(bytes, start, limit);
}
/** If no small letter follows the first run, the pattern steps back until a caseless letter is the second run. */
function wordEnd(bytes, start, limit) {
	let end = start;
	let caselessEnd = undecided;
	end = blocksEnd(bytes, end, caseless);
	if (end !== start) caselessEnd = end;
	let kind = classAt(bytes, end);
	for (; (kind & beforeSmall) !== 0; kind = classAt(bytes, end)) {
		end += widthAt(bytes, end);
		if ((kind & upper) === 0) caselessEnd = end;
	}
	if ((kind & lower) !== 0) {
		for (; (kind & fromSmall) !== 0; kind = classAt(bytes, end)) end += widthAt(bytes, end);
	} else if (caselessEnd !== undecided) {
		return end >= limit ? undecided : contractionEnd(bytes, caselessEnd, limit);
	}
	return contractionEnd(bytes, end, limit);
}
/** The end of a piece that depends on more bytes than `limit`, the end of the buffer; `noLimit` at the end of the text. */
export const undecided = -1;
export const noLimit = 2 ** 31 - 1;
/** `\p{N}{1,3}` */
function numberEnd(bytes, start, limit) {
	let end = start;
	for (let digits = 0; digits < 3; digits++) {
		if ((classAt(bytes, end) & number) === 0) return end >= limit ? undecided : end;
		end += widthAt(bytes, end);
	}
	return end;
}
/** `[^\s\p{L}\p{N}]+`, then line ends and bytes that are `slash`. */
function symbolsEnd(bytes, start, limit, slash) {
	let end = start;
	for (;;) {
		while ((byteClasses[bytes[end]] & symbol) !== 0) end++;
		if (bytes[end] < 0x80 || (classAt(bytes, end) & symbolOrMark) === 0) break;
		end += widthAt(bytes, end);
	}
	for (let byte = bytes[end]; byte === 10 || byte === 13 || byte === slash; byte = bytes[end]) end++;
	return end >= limit ? undecided : end;
}
/**
 * `\s*[\r\n]+|\s+(?!\S)|\s+`: up to the last line end of the run; without one, without its last character, unless the run
 * is one character or the text ends.
 */
function whiteEnd(bytes, start, limit) {
	let end = start;
	let last = start;
	let lineEnded = undecided;
	for (let kind = classAt(bytes, end); (kind & white) !== 0; kind = classAt(bytes, end)) {
		last = end;
		end += widthAt(bytes, end);
		if ((kind & lineEnd) !== 0) lineEnded = end;
	}
	if (end >= limit) return undecided;
	if (lineEnded !== undecided) return lineEnded;
	return last === start || bytes[end] === endOfBytes ? end : last;
}
/** The end of `'s`, `'t`, `'re`, `'ve`, `'m`, `'ll` or `'d` in any case (also U+017F, the long s), or `start`. */
function contractionEnd(bytes, start, limit) {
	if (bytes[start] !== apostrophe) return start >= limit ? undecided : start;
	if (start + 3 >= limit) return undecided;
	const first = bytes[start + 1];
	const second = bytes[start + 2];
	const letter = first | 0x20;
	const after = second | 0x20;
	if (letter === 0x73 || letter === 0x74 || letter === 0x6d || letter === 0x64) return start + 2;
	const isDouble = after === 0x65 ? letter === 0x72 || letter === 0x76 : after === 0x6c && letter === 0x6c;
	return isDouble || (first === 0xc5 && second === 0xbf) ? start + 3 : start;
}
