import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createPieceBytes } from "./piece-bytes.ts";
import { createTokenTable, type TokenTable } from "./token-table.ts";

/** The tables that are told apart here; o200k_harmony's is o200k_base's. */
export type TableName = "o200k_base" | "cl100k_base";

const sizes: Record<TableName, number> = { o200k_base: 199_998, cl100k_base: 100_256 };
const lineFeed = 10;

/** The 6 bits of each character of base64, and 64 for every other byte. */
const base64Values = readBase64Alphabet();

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
		// What is decoded is shorter than what it stands for, and so never catches up with what is still to be read.
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

function readBase64Alphabet(): Uint8Array {
	const values = new Uint8Array(256).fill(64);
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	for (let value = 0; value < alphabet.length; value++) values[alphabet.charCodeAt(value)] = value;
	return values;
}
