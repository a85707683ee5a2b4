import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { CountTokens } from "../../../src/engine/conversation/measure.ts";
import type { TableName } from "../../../src/formats/tokens/table.ts";

// tiktoken 1.0.22's own patterns; JavaScript's \s is not Rust's, and (?i:s) takes in the long s.
const contraction = "'(?:[sSſ]|[tT]|[rR][eE]|[vV][eE]|[mM]|[lL][lL]|[dD])";
const space = "\\p{White_Space}";
const notSpace = "\\P{White_Space}";
const white = `${space}*[\\r\\n]+|${space}+(?!${notSpace})|${space}+`;
const upper = "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]";
const lower = "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]";
const first = "[^\\r\\n\\p{L}\\p{N}]?";
const symbols = ` ?[^${space}\\p{L}\\p{N}]+`;

const patterns: Record<TableName, RegExp> = {
	o200k_base: new RegExp(
		`${first}${upper}*${lower}+(?:${contraction})?|${first}${upper}+${lower}*(?:${contraction})?|\\p{N}{1,3}|${symbols}[\\r\\n/]*|${white}`,
		"gu",
	),
	cl100k_base: new RegExp(`${contraction}|${first}\\p{L}+|\\p{N}{1,3}|${symbols}[\\r\\n]*|${white}`, "gu"),
};

/** Token ranks by the token's bytes, each byte one character. */
export type Ranks = ReadonlyMap<string, number>;

/** Reads an encoding's ranks apart from the code under test. */
export function readRanks(name: TableName): Ranks {
	const path = createRequire(import.meta.url).resolve(`gpt-tokenizer/data/${name}.tiktoken`);
	const lines = readFileSync(path, "latin1").trimEnd().split("\n");
	return new Map(
		lines.map((line) => {
			const [token = "", rank] = line.split(" ");
			return [Buffer.from(token, "base64").toString("latin1"), Number(rank)];
		}),
	);
}

/** A counter that owes nothing to the code under test: the pattern as a regular expression, and merging with a heap. */
export function createOracle(name: TableName): { count: CountTokens; longestPiece: (text: string) => number } {
	const ranks = readRanks(name);

	function count(text: string): number {
		let counted = 0;
		for (const piece of piecesOf(name, text)) counted += countPiece(toBytes(piece), ranks);
		return counted;
	}

	/** The longest piece of a text in UTF-16 code units: tiktoken and gpt-tokenizer take its square in time. */
	function longestPiece(text: string): number {
		let longest = 0;
		for (const piece of piecesOf(name, text)) longest = Math.max(longest, piece.length);
		return longest;
	}

	return { count, longestPiece };
}

/** The pieces of a text by the pattern. */
export function piecesOf(name: TableName, text: string): string[] {
	return Array.from(text.toWellFormed().matchAll(patterns[name]), ([piece]) => piece);
}

/** The tokens of one piece: one where it is a token, else what merging leaves. */
export function countPiece(bytes: string, ranks: Ranks): number {
	return ranks.has(bytes) ? 1 : mergeWithHeap(bytes, ranks);
}

/** Merges the pair of lowest rank first, the leftmost among equals, in O(n log n). */
export function mergeWithHeap(bytes: string, ranks: Ranks): number {
	const length = bytes.length;
	// A part is known by the position of its first byte; the last part's end is `length`.
	const ends = Int32Array.from({ length }, (_, position) => position + 1);
	const previous = Int32Array.from({ length }, (_, position) => position - 1);
	const pairRanks = new Int32Array(length).fill(-1);
	const heap: number[] = [];

	function rankPair(position: number): void {
		const middle = ends[position] ?? length;
		const rank = middle < length ? ranks.get(bytes.slice(position, ends[middle])) : undefined;
		pairRanks[position] = rank ?? -1;
		if (rank !== undefined) push(heap, rank * 2 ** 32 + position);
	}

	for (let position = 0; position < length; position++) rankPair(position);
	let count = length;
	for (let entry = pop(heap); entry !== undefined; entry = pop(heap)) {
		const position = entry % 2 ** 32;
		if (pairRanks[position] !== Math.floor(entry / 2 ** 32)) continue;
		const merged = ends[position] ?? length;
		const end = ends[merged] ?? length;
		ends[position] = end;
		pairRanks[merged] = -1;
		if (end < length) previous[end] = position;
		count--;
		rankPair(position);
		const before = previous[position] ?? -1;
		if (before >= 0) rankPair(before);
	}
	return count;
}

/** The UTF-8 bytes of a text, one character each. */
export function toBytes(text: string): string {
	return Buffer.from(text, "utf8").toString("latin1");
}

function push(heap: number[], value: number): void {
	let hole = heap.push(value) - 1;
	while (hole > 0) {
		const parent = (hole - 1) >> 1;
		const above = heap[parent] ?? 0;
		if (above <= value) break;
		heap[hole] = above;
		hole = parent;
	}
	heap[hole] = value;
}

function pop(heap: number[]): number | undefined {
	const smallest = heap[0];
	const last = heap.pop();
	if (smallest === undefined || last === undefined || heap.length === 0) return smallest;
	let hole = 0;
	for (let child = 1; child < heap.length; child = 2 * hole + 1) {
		if ((heap[child + 1] ?? Infinity) < (heap[child] ?? Infinity)) child++;
		const below = heap[child] ?? Infinity;
		if (below >= last) break;
		heap[hole] = below;
		hole = child;
	}
	heap[hole] = last;
	return smallest;
}
