import {
	blocksEnd,
	caseless,
	classAt,
	letter,
	lower,
	mark,
	number,
	space,
	symbol,
	upper,
	white,
	widthAt,
} from "./character-classes.ts";
import { contractionEnd, numberEnd, symbolsEnd, undecided, whiteEnd } from "./piece-runs.ts";

const slash = 0x2f;

// V8 reads imported constants from memory each time, and these are of the loops.
const capital = upper;
const inWord = letter | mark;
const beforeSmall = upper | caseless | mark;
const fromSmall = lower | caseless | mark;

/**
 * The end of the piece that starts at `start`, as o200k_base's pattern splits; or `undecided`.
 *
 *     [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
 *     |[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
 *     |\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
 *
 * A mark at the start belongs to the word behind it whether it is taken as the first character or as one of the word's.
 */
export function o200kPieceEnd(bytes: Uint8Array, start: number, limit: number): number {
	const first = classAt(bytes, start);
	if ((first & inWord) !== 0) return wordEnd(bytes, start, limit);
	if ((first & number) !== 0) return numberEnd(bytes, start, limit);
	if ((first & (space | symbol)) !== 0) {
		const next = start + widthAt(bytes, start);
		const second = classAt(bytes, next);
		if ((second & inWord) !== 0) return wordEnd(bytes, next, limit);
		if ((first & symbol) !== 0) return symbolsEnd(bytes, start, limit, slash);
		if ((second & symbol) !== 0 && bytes[start] === 0x20) return symbolsEnd(bytes, next, limit, slash);
		if ((second & white) === 0 && second !== 0) return next;
	}
	return whiteEnd(bytes, start, limit);
}

/**
 * Capitals and caseless letters as far as they go, then small and caseless ones. Where no small letter follows the
 * first run, the pattern steps back until a caseless letter can start the second, which is then that letter alone.
 */
function wordEnd(bytes: Uint8Array, start: number, limit: number): number {
	let end = start;
	let caselessEnd = undecided;
	end = blocksEnd(bytes, end, caseless);
	if (end !== start) caselessEnd = end;
	let kind = classAt(bytes, end);
	for (; (kind & beforeSmall) !== 0; kind = classAt(bytes, end)) {
		end += widthAt(bytes, end);
		if ((kind & capital) === 0) caselessEnd = end;
	}
	if ((kind & lower) !== 0) {
		for (; (kind & fromSmall) !== 0; kind = classAt(bytes, end)) end += widthAt(bytes, end);
	} else if (caselessEnd !== undecided) {
		return end >= limit ? undecided : contractionEnd(bytes, caselessEnd, limit);
	}
	return contractionEnd(bytes, end, limit);
}
