import { createPieceBytes, hashBytes, type PieceBytes } from "./piece-cache.ts";
import {
	filterBit,
	filterMask,
	headerLength,
	rankMask,
	sectionLengths,
	type TokenTable,
	tableVersion,
} from "./table.ts";

/**
 * The file that `tableOfFile` reads, of tiktoken's format: a line for each token, with its bytes in base64 and its rank. Throws
 * unless it has `size` tokens. Only the build calls it: a process reads a prepared table in a tenth of the time.
 */
export function tokenFile(text: string, size: number): Uint8Array<ArrayBuffer> {
	return fileOfTable(parseTokenTable(text, size));
}

function parseTokenTable(text: string, size: number): TokenTable {
	const lines = text.split("\n").filter((line) => line !== "");
	if (lines.length !== size) throw new Error(`Expected a table of ${size} tokens; got ${lines.length}.`);
	const starts = new Int32Array(size + 1);
	const parts = lines.map((line, index) => {
		const [base64 = "", rank] = line.split(" ");
		if (Number(rank) !== index) throw new Error(`Expected the token of rank ${index}; got ${rank}.`);
		const bytes = Buffer.from(base64, "base64");
		starts[index + 1] = (starts[index] as number) + bytes.length;
		return bytes;
	});
	const tokens = createPieceBytes(starts[size] as number);
	tokens.bytes.set(Buffer.concat(parts));
	return createTokenTable(tokens, starts);
}

/** `starts`: of each token in `tokens`, by rank, and the end of the last. */
function createTokenTable(tokens: PieceBytes, starts: Int32Array): TokenTable {
	const { bytes, view } = tokens;
	const size = starts.length - 1;
	const slots = new Int32Array(sectionLengths(size, 0).slots / 4);
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

function fileOfTable(table: TokenTable): Uint8Array<ArrayBuffer> {
	const { size, longest, tokens, starts, singles, pairs, slots, filter } = table;
	const lengths = sectionLengths(size, tokens.capacity);
	const whole = Object.values(lengths).reduce((sum, length) => sum + length, headerLength);
	const file = new Uint8Array(whole);
	const view = new DataView(file.buffer);
	let at = 0;
	for (const numbers of [[tableVersion, size, longest, tokens.capacity], starts, singles, pairs, slots]) {
		for (const number of numbers) {
			view.setInt32(at, number, true);
			at += 4;
		}
	}
	file.set(filter, at);
	file.set(tokens.bytes, at + filter.length);
	return file;
}
