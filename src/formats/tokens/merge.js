import { addToList } from "../../engine/conversation/lists.js";
import { isToken, rankOf } from "./table.js";

/** Words of 32 places. Pieces up to 64 kB share their working memory; that of a longer one is released after it. */
const sharedWords = 1 << 11;
/**
 * Byte-pair encoding in linear time, after the backtracking encoder of GitHub's crate `bpe` (github.com/github/rust-gems):
 * at each place it takes the longest token that may follow the previous one; if none may, it steps back and tries a shorter
 * one. Two tokens may be neighbours if merging the bytes of both yields these two. A row of such neighbours is the result
 * of merging all its bytes, so there is one row up to each place, and none that ended there is tried again. The memory is
 * one bit for each byte. In the table, merging the bytes of each token must yield that token, as in every trained one.
 */
export function createLongPieceCounter(table) {
	const { starts } = table;
	const longestTokens = createLongestTokens(table);
	const findNeighbour = createFindNeighbour(table, longestTokens.within);
	let ends = new Int32Array(sharedWords);
	let steps = 0;
	function prepare(length) {
		const words = (length >>> 5) + 1;
		if (words > ends.length || ends.length > sharedWords) ends = new Int32Array(Math.max(words, sharedWords));
		else ends.fill(0, 0, words);
	}
	function previousEnd(place) {
		let word = place >>> 5;
		let bits = ends[word] & ((1 << (place & 31)) - 1);
		while (bits === 0 && word > 0) bits = ends[--word];
		return bits === 0 ? 0 : (word << 5) + 31 - Math.clz32(bits);
	}
	/** The number of tokens of the piece of `length` bytes at `start`, which is not a token. */
	function count(view, start, length) {
		prepare(length);
		let counted = 0;
		let place = 0;
		let before = -1;
		let token = longestTokens.at(view, start, length);
		while (place < length) {
			steps++;
			if (before >= 0 && token >= 0) token = findNeighbour(view, start + place, before, token);
			if (token < 0) {
				// No token can follow, so the last one was too long.
				flip(ends, place);
				counted--;
				token = longestTokens.within(before);
				place -= lengthOf(before);
				const previous = previousEnd(place);
				before = place === 0 ? -1 : rankOf(table, view, start + previous, place - previous);
				continue;
			}
			place += lengthOf(token);
			flip(ends, place);
			counted++;
			before = token;
			if (place < length) token = longestTokens.at(view, start + place, length - place);
		}
		return counted;
	}
	function lengthOf(token) {
		return starts[token + 1] - starts[token];
	}
	/** `steps`: the tokens tried so far, of all pieces. */
	return { count, steps: () => steps };
}
function flip(places, place) {
	places[place >>> 5] = places[place >>> 5] ^ (1 << (place & 31));
}
const shortestMasked = 4;
const longestMasked = 34;
const longerBit = 31;
const prefixBits = 18;
function createLongestTokens(table) {
	const { starts, tokens, singles, pairs, size } = table;
	const lengthMasks = new Int32Array(1 << prefixBits);
	const longTokens = new Map();
	// Rank + 1; 0: not known yet.
	const shorter = new Int32Array(size);
	for (let rank = 0; rank < size; rank++) {
		const start = starts[rank];
		const length = lengthOf(rank);
		if (length < shortestMasked) continue;
		const slot = prefixSlot(tokens.view, start);
		const bit = length > longestMasked ? longerBit : length - shortestMasked;
		lengthMasks[slot] = lengthMasks[slot] | (1 << bit);
		if (length > longestMasked) addToList(longTokens, slot, rank);
	}
	for (const ranks of longTokens.values()) ranks.sort((one, other) => lengthOf(other) - lengthOf(one));
	function lengthOf(rank) {
		return starts[rank + 1] - starts[rank];
	}
	function at(view, start, room) {
		if (room >= shortestMasked) {
			const slot = prefixSlot(view, start);
			const mask = lengthMasks[slot];
			const found = mask < 0 ? longToken(slot, view, start, room) : -1;
			if (found >= 0) return found;
			const fitting = room > longestMasked ? mask & ~(1 << longerBit) : mask & ((1 << (room - shortestMasked + 1)) - 1);
			for (let left = fitting; left !== 0; ) {
				const bit = 31 - Math.clz32(left);
				const rank = rankOf(table, view, start, bit + shortestMasked);
				if (rank >= 0) return rank;
				left ^= 1 << bit;
			}
		}
		const three = room >= 3 ? rankOf(table, view, start, 3) : -1;
		if (three >= 0) return three;
		const two = room >= 2 ? pairs[view.getUint16(start)] : -1;
		return two >= 0 ? two : singles[view.getUint8(start)];
	}
	function longToken(slot, view, start, room) {
		for (const rank of longTokens.get(slot) ?? []) {
			const length = lengthOf(rank);
			if (length <= room && isToken(table, rank, view, start, length)) return rank;
		}
		return -1;
	}
	/** Rank of the longest other token that a token starts with; -1 for a single byte. */
	function within(rank) {
		const known = shorter[rank];
		if (known !== 0) return known - 1;
		const length = lengthOf(rank);
		if (length === 1) return -1;
		const found = at(tokens.view, starts[rank], length - 1);
		shorter[rank] = found + 1;
		return found;
	}
	return { at, within };
}
function prefixSlot(view, start) {
	return Math.imul(view.getInt32(start, true), 0x9e3779b1) >>> (32 - prefixBits);
}
const pairShift = 18;
const knownPairs = 1 << (32 - pairShift);
/**
 * Rank of the next token; -1 if none may follow. Undoes the merges of both tokens, the last one first, and checks each
 * time whether the parts that touch would have been merged earlier.
 */
function createFindNeighbour(table, within) {
	const { starts, tokens, size } = table;
	const merge = createPieceMerger(table);
	// Rank + 1 of the two parts whose merge makes the token, or its own for a single byte; 0: not known yet.
	const firstParts = new Int32Array(size);
	const secondParts = new Int32Array(size);
	function split(rank) {
		const start = starts[rank];
		const length = starts[rank + 1] - start;
		const { tokens: left, lastSplit } = merge(tokens.view, start, length);
		if (left !== 1) throw new Error(`No merges make token ${rank} of the table. Install the package again.`);
		firstParts[rank] = length === 1 ? rank + 1 : rankOf(table, tokens.view, start, lastSplit) + 1;
		secondParts[rank] = rankOf(table, tokens.view, start + lastSplit, length - lastSplit) + 1;
	}
	function firstPart(rank) {
		if (firstParts[rank] === 0) split(rank);
		return firstParts[rank] - 1;
	}
	function secondPart(rank) {
		if (secondParts[rank] === 0) split(rank);
		return secondParts[rank] - 1;
	}
	// A run of one character asks for the same few pairs again and again. Each slot has both tokens + 1 and the answer.
	const known = new Int32Array(3 * knownPairs);
	function findNeighbour(view, place, before, longest) {
		const slot = 3 * (Math.imul(before ^ Math.imul(longest, 0x9e3779b1), 0x85ebca6b) >>> pairShift);
		if (known[slot] === before + 1 && known[slot + 1] === longest + 1) return known[slot + 2];
		let token = longest;
		while (token >= 0 && !mayTouch(view, place, before, token)) token = within(token);
		known[slot] = before + 1;
		known[slot + 1] = longest + 1;
		known[slot + 2] = token;
		return token;
	}
	function mayTouch(view, place, before, after) {
		let left = before;
		let right = after;
		// Only merges of a lower rank come before those that are undone.
		let limit = size;
		for (;;) {
			const from = place - (starts[left + 1] - starts[left]);
			const to = place + (starts[right + 1] - starts[right]);
			const together = rankOf(table, view, from, to - from);
			if (together >= 0 && together < limit) return false;
			// Of equal ranks the left one is merged first, so it is undone last.
			const leftFirst = left > right;
			const undoneLeft = secondPart(left);
			const undoneRight = firstPart(right);
			if (leftFirst ? undoneLeft !== left : undoneRight === right) {
				if (undoneLeft === left) return true;
				limit = left;
				left = undoneLeft;
			} else {
				if (undoneRight === right) return true;
				limit = right + 1;
				right = undoneRight;
			}
		}
	}
	return findNeighbour;
}
/** The longest piece of `createPieceMerger` in bytes: its time is quadratic. */
const longestMergedPiece = 128;
const noRank = 2 ** 31 - 1;
/**
 * Merges the bytes of a short piece by definition: the pair of lowest rank first, leftmost of equals. Returns the number of
 * tokens, and the place in the piece where the last two merged parts met (0 without merges), in the same object each time.
 */
export function createPieceMerger(table) {
	const starts = new Int32Array(longestMergedPiece + 2);
	const ranks = new Int32Array(longestMergedPiece + 2);
	const merge = { tokens: 0, lastSplit: 0 };
	function mergePiece(view, start, length) {
		const { pairs } = table;
		let best = noRank;
		let at = 0;
		for (let part = 0; part < length; part++) {
			starts[part] = start + part;
			const rank = part + 1 < length ? pairs[view.getUint16(start + part)] : -1;
			ranks[part] = rank < 0 ? noRank : rank;
			if (rank >= 0 && rank < best) {
				best = rank;
				at = part;
			}
		}
		starts[length] = start + length;
		let parts = length;
		let lastSplit = 0;
		while (best !== noRank) {
			lastSplit = starts[at + 1] - start;
			parts--;
			for (let part = at + 1; part < parts; part++) {
				starts[part] = starts[part + 1];
				ranks[part] = ranks[part + 1];
			}
			starts[parts] = starts[parts + 1];
			ranks[at] = pairRank(view, at, parts);
			if (at > 0) ranks[at - 1] = pairRank(view, at - 1, parts);
			best = noRank;
			for (let part = 0; part < parts; part++) {
				const rank = ranks[part];
				if (rank < best) {
					best = rank;
					at = part;
				}
			}
		}
		merge.tokens = parts;
		merge.lastSplit = lastSplit;
		return merge;
	}
	function pairRank(view, part, parts) {
		if (part + 2 > parts) return noRank;
		const start = starts[part];
		const rank = rankOf(table, view, start, starts[part + 2] - start);
		return rank < 0 ? noRank : rank;
	}
	return mergePiece;
}
