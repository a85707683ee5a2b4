import { createLongestTokens } from "./longest-token.ts";
import { createFindNeighbour } from "./token-neighbours.ts";
import { rankOf, type TokenTable } from "./token-table.ts";

export interface LongPieceCounter {
	/** The tokens of the piece of `length` bytes at `start`, which is no token as a whole. */
	count(view: DataView, start: number, length: number): number;
	/** Tokens tried so far, over all pieces. */
	steps(): number;
}

/** Words of 32 places: pieces up to 64 kB share their working memory, and what a longer one took is given up after it. */
const sharedWords = 1 << 11;

/**
 * Byte-pair encoding in steps that grow with the length alone, after the backtracking encoder of GitHub's crate `bpe`
 * (github.com/github/rust-gems): at each place the longest token that may stand behind the one before it; where none
 * may, a step back and a shorter one.
 *
 * Two tokens may stand side by side where merging the bytes of both leaves these two, and a row of tokens whose
 * neighbours all may is what merging the whole row leaves. So there is one such row up to each place, and a place from
 * which it does not go on is never tried again. The memory is two bits for each byte, and nothing for each token.
 *
 * That rests on a table in which merging the bytes of each token leaves that token, as in those that training made.
 */
export function createLongPieceCounter(table: TokenTable): LongPieceCounter {
	const { starts } = table;
	const longestTokens = createLongestTokens(table);
	const findNeighbour = createFindNeighbour(table, longestTokens.within);
	let dead = new Int32Array(sharedWords);
	let ends = new Int32Array(sharedWords);
	let steps = 0;

	function prepare(length: number): void {
		const words = (length >>> 5) + 1;
		if (words > dead.length || dead.length > sharedWords) {
			dead = new Int32Array(Math.max(words, sharedWords));
			ends = new Int32Array(Math.max(words, sharedWords));
			return;
		}
		dead.fill(0, 0, words);
		ends.fill(0, 0, words);
	}

	/** The nearest end of a token before `place`, or 0. */
	function previousEnd(place: number): number {
		let end = place - 1;
		while (end > 0 && !has(ends, end)) end--;
		return end;
	}

	function count(view: DataView, start: number, length: number): number {
		prepare(length);
		let counted = 0;
		let place = 0;
		let before = -1;
		let token = longestTokens.at(view, start, length);
		while (place < length) {
			steps++;
			if (before >= 0 && token >= 0) token = findNeighbour(view, start + place, before, token);
			if (token < 0) {
				// The row up to here does not go on, so its last token was too long.
				set(dead, place);
				flip(ends, place);
				counted--;
				token = longestTokens.within(before);
				place -= lengthOf(before);
				const previous = previousEnd(place);
				before = place === 0 ? -1 : rankOf(table, view, start + previous, place - previous);
				continue;
			}
			const end = place + lengthOf(token);
			if (has(dead, end)) {
				token = longestTokens.within(token);
				continue;
			}
			flip(ends, end);
			counted++;
			place = end;
			before = token;
			if (place < length) token = longestTokens.at(view, start + place, length - place);
		}
		return counted;
	}

	function lengthOf(token: number): number {
		return (starts[token + 1] as number) - (starts[token] as number);
	}

	return { count, steps: () => steps };
}

function has(places: Int32Array, place: number): boolean {
	return (((places[place >>> 5] as number) >>> (place & 31)) & 1) !== 0;
}

function set(places: Int32Array, place: number): void {
	places[place >>> 5] = (places[place >>> 5] as number) | (1 << (place & 31));
}

function flip(places: Int32Array, place: number): void {
	places[place >>> 5] = (places[place >>> 5] as number) ^ (1 << (place & 31));
}
