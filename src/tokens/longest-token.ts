import { isToken, rankOf, type TokenTable } from "./token-table.ts";

export interface LongestTokens {
	/** Rank of the longest token of at most `room` bytes (at least one) that stands at `start`. */
	at(view: DataView, start: number, room: number): number;
	/** Rank of the longest token that a token starts with, other than itself; -1 for a single byte. */
	within(rank: number): number;
}

const shortestMasked = 4;
const longestMasked = 34;
const longerBit = 31;
const prefixBits = 18;

/** Finds the longest token at a place by asking, longest first, for each length that a token with its first bytes has. */
export function createLongestTokens(table: TokenTable): LongestTokens {
	const { starts, tokens, singles, pairs, size } = table;
	const lengthMasks = new Int32Array(1 << prefixBits);
	const longTokens = new Map<number, number[]>();
	// Rank + 1; 0 where not asked for yet.
	const shorter = new Int32Array(size);

	for (let rank = 0; rank < size; rank++) {
		const start = starts[rank] as number;
		const length = lengthOf(rank);
		if (length < shortestMasked) continue;
		const slot = prefixSlot(tokens.view, start);
		const bit = length > longestMasked ? longerBit : length - shortestMasked;
		lengthMasks[slot] = (lengthMasks[slot] as number) | (1 << bit);
		if (length > longestMasked) longTokens.set(slot, [...(longTokens.get(slot) ?? []), rank]);
	}
	for (const ranks of longTokens.values()) ranks.sort((one, other) => lengthOf(other) - lengthOf(one));

	function lengthOf(rank: number): number {
		return (starts[rank + 1] as number) - (starts[rank] as number);
	}

	function at(view: DataView, start: number, room: number): number {
		if (room >= shortestMasked) {
			const slot = prefixSlot(view, start);
			const mask = lengthMasks[slot] as number;
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
		const two = room >= 2 ? (pairs[view.getUint16(start)] as number) : -1;
		return two >= 0 ? two : (singles[view.getUint8(start)] as number);
	}

	function longToken(slot: number, view: DataView, start: number, room: number): number {
		for (const rank of longTokens.get(slot) ?? []) {
			const length = lengthOf(rank);
			if (length <= room && isToken(table, rank, view, start, length)) return rank;
		}
		return -1;
	}

	function within(rank: number): number {
		const known = shorter[rank] as number;
		if (known !== 0) return known - 1;
		const length = lengthOf(rank);
		if (length === 1) return -1;
		const found = at(tokens.view, starts[rank] as number, length - 1);
		shorter[rank] = found + 1;
		return found;
	}

	return { at, within };
}

function prefixSlot(view: DataView, start: number): number {
	return Math.imul(view.getInt32(start, true), 0x9e3779b1) >>> (32 - prefixBits);
}
