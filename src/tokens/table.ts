import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createPieceBytes, hashBytes, lastWordMask, type PieceBytes } from "./piece-cache.ts";

/** The encodings that have a table of their own; o200k_harmony's is o200k_base's. */
export type TableName = "o200k_base" | "cl100k_base";

const sizes: Record<TableName, number> = { o200k_base: 199_998, cl100k_base: 100_256 };
const lineFeed = 10;

/** The 6 bits of each character of base64, and 64 for every other byte. */
const base64Values = new Uint8Array(256).fill(64);
for (const [value, character] of [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"].entries()) {
	base64Values[character.charCodeAt(0)] = value;
}

/**
 * Reads an encoding's table from the files of gpt-tokenizer: some 30 ms for o200k_base.
 *
 * Throws where the file is missing or is not the table of that encoding, which only a damaged installation does.
 */
export function readTokenTable(name: TableName): TokenTable {
	const path = createRequire(import.meta.url).resolve(`gpt-tokenizer/data/${name}.tiktoken`);
	return parseTokenTable(readFileSync(path), sizes[name]);
}

/**
 * Parses tiktoken's format: a line for each token in the order of ranks, its bytes in base64, a space and its rank.
 *
 * The file's bytes are overwritten. Throws an `Error` where there are not `size` lines.
 */
export function parseTokenTable(file: Uint8Array, size: number): TokenTable {
	const starts = new Int32Array(size + 1);
	let rank = 0;
	let length = 0;
	for (let at = 0; at < file.length && rank < size; at++) {
		// The decoded bytes are shorter than their base64, so that they never overwrite bytes that are still to be read.
		let bits = 0;
		let group = 0;
		for (let value = base64Values[file[at] as number] as number; value < 64; ) {
			group = (group << 6) | value;
			bits += 6;
			if (bits >= 8) {
				bits -= 8;
				file[length++] = group >> bits;
			}
			value = base64Values[file[++at] as number] as number;
		}
		while (at < file.length && file[at] !== lineFeed) at++;
		starts[++rank] = length;
	}
	if (rank !== size) throw new Error(`expected a table of ${size} tokens, got ${rank}: install gpt-tokenizer again`);
	const tokens = createPieceBytes(length);
	tokens.bytes.set(file.subarray(0, length));
	return createTokenTable(tokens, starts);
}

/**
 * The tokens of one encoding by their bytes: open addressing over one array of all tokens' bytes. Some 5 MB for
 * o200k_base, none of it on the JavaScript heap.
 */
export interface TokenTable {
	/** Number of tokens; their ranks are 0 to size - 1. */
	readonly size: number;
	/** Length of the longest token in bytes. */
	readonly longest: number;
	/** All tokens' bytes, one token behind the other in the order of their ranks. */
	readonly tokens: PieceBytes;
	/** Where each token starts in `tokens`; one more entry says where the last ends. */
	readonly starts: Int32Array;
	/** Rank of the token of one byte. */
	readonly singles: Int32Array;
	/** Rank of the token of two bytes at `first << 8 | second`, or -1. */
	readonly pairs: Int32Array;
	/** Rank + 1 and above it 14 bits of the hash, or 0 where free. */
	readonly slots: Int32Array;
	/** A bit for each value of a hash's lowest 21 bits, set where a token has it. Small enough to stay in the cache. */
	readonly filter: Uint8Array;
}

// 18 bits hold the ranks of every table of OpenAI's.
const rankMask = (1 << 18) - 1;
const filterMask = (1 << 18) - 1;

/** Builds the table of the tokens whose bytes and starts are given, in the order of their ranks. */
export function createTokenTable(tokens: PieceBytes, starts: Int32Array): TokenTable {
	const { bytes, view } = tokens;
	const size = starts.length - 1;
	const slots = new Int32Array(1 << (33 - Math.clz32(size)));
	const singles = new Int32Array(256);
	const pairs = new Int32Array(65_536).fill(-1);
	const filter = new Uint8Array(filterMask + 1);
	const mask = slots.length - 1;
	let longest = 0;
	for (let rank = 0; rank < size; rank++) {
		const start = starts[rank] as number;
		const length = (starts[rank + 1] as number) - start;
		if (length > longest) longest = length;
		if (length === 1) singles[bytes[start] as number] = rank;
		if (length === 2) pairs[view.getUint16(start)] = rank;
		const hash = hashBytes(view, start, length);
		filter[hash & filterMask] = (filter[hash & filterMask] as number) | filterBit(hash);
		let slot = hash & mask;
		while (slots[slot] !== 0) slot = (slot + 1) & mask;
		slots[slot] = (rank + 1) | (hash & ~rankMask);
	}
	return { size, longest, tokens, starts, singles, pairs, slots, filter };
}

/** The rank of the token that is the `length` bytes from `start` on, whose hash is given; -1 where none is. */
export function findToken(table: TokenTable, view: DataView, start: number, length: number, hash: number): number {
	const { slots, filter } = table;
	if (((filter[hash & filterMask] as number) & filterBit(hash)) === 0) return -1;
	const mask = slots.length - 1;
	let slot = hash & mask;
	for (let entry = slots[slot] as number; entry !== 0; entry = slots[slot] as number) {
		if (((entry ^ hash) & ~rankMask) === 0) {
			const rank = (entry & rankMask) - 1;
			if (isToken(table, rank, view, start, length)) return rank;
		}
		slot = (slot + 1) & mask;
	}
	return -1;
}

function filterBit(hash: number): number {
	return 1 << ((hash >>> 18) & 7);
}

/** The rank of the token that is the `length` bytes from `start` on; -1 where none is. */
export function rankOf(table: TokenTable, view: DataView, start: number, length: number): number {
	if (length === 2) return table.pairs[view.getUint16(start)] as number;
	return length > table.longest ? -1 : findToken(table, view, start, length, hashBytes(view, start, length));
}

/** Whether the token of that rank is the `length` bytes from `start` on. */
export function isToken(table: TokenTable, rank: number, view: DataView, start: number, length: number): boolean {
	const token = table.starts[rank] as number;
	if ((table.starts[rank + 1] as number) - token !== length) return false;
	const tokens = table.tokens.view;
	let offset = 0;
	for (; offset + 4 < length; offset += 4) {
		if (tokens.getInt32(token + offset, true) !== view.getInt32(start + offset, true)) return false;
	}
	const difference = tokens.getInt32(token + offset, true) ^ view.getInt32(start + offset, true);
	return (difference & lastWordMask(length - offset)) === 0;
}
