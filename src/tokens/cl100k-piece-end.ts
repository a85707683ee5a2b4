import { blocksEnd, classAt, letter, mark, number, space, symbol, white, widthAt } from "./character-classes.ts";
import { contractionEnd, numberEnd, symbolsEnd, undecided, whiteEnd } from "./piece-runs.ts";

const apostrophe = 0x27;
// No byte of UTF-8 is: this pattern takes no slashes after the line ends.
const noSlash = -1;
// V8 reads an imported constant from memory each time, and this one is of the loop.
const inWord = letter;

/**
 * The end of the piece that starts at `start`, as cl100k_base's pattern splits; or `undecided`.
 *
 *     (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}
 *     | ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
 *
 * Later versions of tiktoken for Python put `\s++$` before the line ends, which leaves line ends at the end of the text
 * and spaces behind them in one piece; this is the pattern of tiktoken 1.0.22 for JavaScript.
 */
export function cl100kPieceEnd(bytes: Uint8Array, start: number, limit: number): number {
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

function lettersEnd(bytes: Uint8Array, start: number, limit: number): number {
	let end = blocksEnd(bytes, start, inWord);
	while ((classAt(bytes, end) & inWord) !== 0) end = blocksEnd(bytes, end + widthAt(bytes, end), inWord);
	return end >= limit ? undecided : end;
}
