import { readFileSync } from "node:fs";
import { endianness } from "node:os";
import { PalimpsestError } from "../../errors.ts";
import { packageFile } from "../../version.ts";
import { hashBytes, lastWordMask, type PieceBytes, padding } from "./piece-cache.ts";

/** o200k_harmony has the table of o200k_base. */
export type TableName = "o200k_base" | "cl100k_base";

/** The tokens of one encoding, in a hash table with open addressing: some 5 MB for o200k_base, outside the JavaScript heap. */
export interface TokenTable {
	readonly size: number;
	/** Most bytes of a token. */
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

/** Reads an encoding's table as the build prepared it. Throws PalimpsestError `unreadable_file` if it is missing or damaged. */
export function readTokenTable(name: TableName): TokenTable {
	const path = `assets/${name}.tokens`;
	const hint = "Install the package again, or run `npm run assets` in a checkout.";
	let file: Uint8Array<ArrayBuffer>;
	try {
		file = readFileSync(packageFile(path));
	} catch (cause) {
		throw new PalimpsestError("unreadable_file", `Could not read \`${path}\`, which counting needs. ${hint}`, {
			cause,
		});
	}
	const table = tableOfFile(file);
	if (!table) throw new PalimpsestError("unreadable_file", `\`${path}\` is damaged or of another version. ${hint}`);
	return table;
}

/** Has to change with the sections of the file and with `hashBytes`. */
export const tableVersion = 1;

/** The header of the file, in bytes: the version, the size, the longest token and the capacity of `tokens`, four bytes each. */
export const headerLength = 16;

/** Bytes of each section of the file, in its order. */
export function sectionLengths(size: number, capacity: number) {
	return {
		starts: (size + 1) * 4,
		singles: 256 * 4,
		pairs: 65_536 * 4,
		slots: (1 << (33 - Math.clz32(size))) * 4,
		filter: filterMask + 1,
		tokens: capacity + padding,
	};
}

/**
 * Views of a file that `tokenFile` made, without a copy. Its numbers are little-endian; on a big-endian machine they are
 * swapped in place. `undefined` if the file is not whole or of another version.
 */
export function tableOfFile(file: Uint8Array<ArrayBuffer>, order = endianness()): TokenTable | undefined {
	if (file.length < headerLength) return undefined;
	// Numbers of four bytes need an address that is a multiple of four.
	const { buffer, byteOffset, length } = file.byteOffset % 4 === 0 ? file : new Uint8Array(file);
	const header = new DataView(buffer, byteOffset, headerLength);
	const [version, size, longest, capacity] = [0, 4, 8, 12].map((at) => header.getInt32(at, true)) as Header;
	const lengths = sectionLengths(size, capacity);
	const whole = Object.values(lengths).reduce((sum, one) => sum + one, headerLength);
	if (version !== tableVersion || whole !== length) return undefined;
	let end = byteOffset + headerLength;
	const section = (name: keyof typeof lengths) => {
		end += lengths[name];
		return new Uint8Array(buffer, end - lengths[name], lengths[name]);
	};
	const numbers = (name: keyof typeof lengths) => {
		const bytes = section(name);
		if (order === "BE") Buffer.from(buffer, bytes.byteOffset, bytes.length).swap32();
		return new Int32Array(buffer, bytes.byteOffset, bytes.length / 4);
	};
	const [starts, singles, pairs, slots] = [numbers("starts"), numbers("singles"), numbers("pairs"), numbers("slots")];
	const [filter, bytes] = [section("filter"), section("tokens")];
	const view = new DataView(buffer, bytes.byteOffset, bytes.length);
	return { size, longest, tokens: { bytes, view, capacity }, starts, singles, pairs, slots, filter };
}

type Header = [version: number, size: number, longest: number, capacity: number];

// 18 bits hold the ranks of every table of OpenAI's.
export const rankMask = (1 << 18) - 1;
export const filterMask = (1 << 18) - 1;

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

export function filterBit(hash: number): number {
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
