import { createMinHeap } from "./min-heap.ts";
import { type RankTable, toByteString } from "./rank-table.ts";

// A heap entry is rank and position in one number: a rank stays under 2^18, so the whole stays exact.
const positions = 2 ** 32;

/**
 * The number of tokens one piece of text becomes by byte-pair merging, in O(n log n) steps for n bytes: the pair of
 * lowest rank is merged first, the leftmost among equals, as the plain algorithm does in O(n²).
 *
 * For pieces that are no token as a whole (any piece longer than the table's longest token).
 */
export function mergeLongPiece(piece: string, ranks: RankTable): number {
	const bytes = toByteString(piece);
	const length = bytes.length;
	// A part is known by the position of its first byte; the last part's end is `length`.
	const ends = new Int32Array(length);
	const previous = new Int32Array(length);
	const pairRanks = new Int32Array(length);
	const heap = createMinHeap(length);

	function rankPair(position: number): void {
		const middle = ends[position] as number;
		const rank = middle < length ? ranks.get(bytes.slice(position, ends[middle])) : undefined;
		pairRanks[position] = rank ?? -1;
		if (rank !== undefined) heap.push(rank * positions + position);
	}

	for (let position = 0; position < length; position++) {
		ends[position] = position + 1;
		previous[position] = position - 1;
	}
	for (let position = 0; position < length; position++) rankPair(position);

	let count = length;
	for (let entry = heap.pop(); entry !== undefined; entry = heap.pop()) {
		const position = entry % positions;
		// Entries whose pair has changed since stay in the heap and are passed over here.
		if (pairRanks[position] !== Math.floor(entry / positions)) continue;
		const merged = ends[position] as number;
		const end = ends[merged] as number;
		ends[position] = end;
		pairRanks[merged] = -1;
		if (end < length) previous[end] = position;
		count--;
		rankPair(position);
		const before = previous[position] as number;
		if (before >= 0) rankPair(before);
	}
	return count;
}
