import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createPieceBytes, hashBytes, lastWordMask, type PieceBytes } from "./piece-cache.ts";

/** o200k_harmony has the table of o200k_base. */
export type TableName = "o200k_base" | "cl100k_base";

const sizes: Record<TableName, number> = { o200k_base: 199_998, cl100k_base: 100_256 };
const lineFeed = 10;

const base64Values = new Uint8Array(256).fill(64);
for (const [value, character] of [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"].entries()) {
	base64Values[character.charCodeAt(0)] = value;
}

/** Reads an encoding's table from the files of gpt-tokenizer. Throws if the installation is damaged. */
export function readTokenTable(name: TableName): TokenTable {
	const path = createRequire(import.meta.url).resolve(`gpt-tokenizer/data/${name}.tiktoken`);
	return parseTokenTable(readFileSync(path), sizes[name]);
}

/** tiktoken's format: a line for each token, with its bytes in base64 and its rank. Overwrites the file's bytes. */
export function parseTokenTable(file: Uint8Array, size: number): TokenTable {
	const starts = new Int32Array(size + 1);
	let rank = 0;
	let length = 0;
	for (let at = 0; at < file.length && rank < size; at++) {
		// The decoded bytes are shorter than their base64, so they never overwrite unread bytes.
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

/** The tokens of one encoding, in a hash table with open addressing: some 5 MB for o200k_base, outside the JavaScript heap. */
export interface TokenTable {
	readonly size: number;
	/** Of a token, in bytes. */
	readonly longest: number;
	readonly tokens: PieceBytes;
	/** The start of each token in `tokens`, and the end of the last one. */
	readonly starts: Int32Array;
	readonly singles: Int32Array;
	/** Rank of the token of two bytes at `first << 8 | second`, or -1. */
	readonly pairs: Int32Array;
	/** Rank + 1 and above it 14 bits of the hash; 0: free. */
	readonly slots: Int32Array;
	/** A bit for each value of the lowest 21 bits of the tokens' hashes. Small enough for the processor's cache. */
	readonly filter: Uint8Array;
}

// 18 bits hold the ranks of every table of OpenAI's.
const rankMask = (1 << 18) - 1;
const filterMask = (1 << 18) - 1;

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

/** The rank of the token with the bytes and the hash, or -1. */
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

/** The same without the hash. */
export function rankOf(table: TokenTable, view: DataView, start: number, length: number): number {
	if (length === 2) return table.pairs[view.getUint16(start)] as number;
	return length > table.longest ? -1 : findToken(table, view, start, length, hashBytes(view, start, length));
}

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
