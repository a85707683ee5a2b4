import { readFileSync } from "node:fs";
import { endianness } from "node:os";
import { PalimpsestError } from "../../errors.js";
import { packageFile } from "../../version.js";
import { hashBytes, lastWordMask, padding } from "./piece-cache.js";
/** Reads an encoding's table as the build prepared it. Throws PalimpsestError `unreadable_file` if it is missing or damaged. */
export function readTokenTable(name) {
	const path = `assets/${name}.tokens`;
	const hint = "Install the package again, or run `npm run assets` in a checkout.";
	let file;
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
export function sectionLengths(size, capacity) {
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
export function tableOfFile(file, order = endianness()) {
	if (file.length < headerLength) return undefined;
	// Numbers of four bytes need an address that is a multiple of four.
	const { buffer, byteOffset, length } = file.byteOffset % 4 === 0 ? file : new Uint8Array(file);
	const header = new DataView(buffer, byteOffset, headerLength);
	const [version, size, longest, capacity] = [0, 4, 8, 12].map((at) => header.getInt32(at, true));
	const lengths = sectionLengths(size, capacity);
	const whole = Object.values(lengths).reduce((sum, one) => sum + one, headerLength);
	if (version !== tableVersion || whole !== length) return undefined;
	let end = byteOffset + headerLength;
	const section = (name) => {
		end += lengths[name];
		return new Uint8Array(buffer, end - lengths[name], lengths[name]);
	};
	const numbers = (name) => {
		const bytes = section(name);
		if (order === "BE") Buffer.from(buffer, bytes.byteOffset, bytes.length).swap32();
		return new Int32Array(buffer, bytes.byteOffset, bytes.length / 4);
	};
	const [starts, singles, pairs, slots] = [numbers("starts"), numbers("singles"), numbers("pairs"), numbers("slots")];
	const [filter, bytes] = [section("filter"), section("tokens")];
	const view = new DataView(buffer, bytes.byteOffset, bytes.length);
	return { size, longest, tokens: { bytes, view, capacity }, starts, singles, pairs, slots, filter };
}
// 18 bits hold the ranks of every table of OpenAI's.
export const rankMask = (1 << 18) - 1;
export const filterMask = (1 << 18) - 1;
/** The rank of the token with the bytes and the hash, or -1. */
export function findToken(table, view, start, length, hash) {
	const { slots, filter } = table;
	if ((filter[hash & filterMask] & filterBit(hash)) === 0) return -1;
	const mask = slots.length - 1;
	let slot = hash & mask;
	for (let entry = slots[slot]; entry !== 0; entry = slots[slot]) {
		if (((entry ^ hash) & ~rankMask) === 0) {
			const rank = (entry & rankMask) - 1;
			if (isToken(table, rank, view, start, length)) return rank;
		}
		slot = (slot + 1) & mask;
	}
	return -1;
}
export function filterBit(hash) {
	return 1 << ((hash >>> 18) & 7);
}
/** The same without the hash. */
export function rankOf(table, view, start, length) {
	if (length === 2) return table.pairs[view.getUint16(start)];
	return length > table.longest ? -1 : findToken(table, view, start, length, hashBytes(view, start, length));
}
export function isToken(table, rank, view, start, length) {
	const token = table.starts[rank];
	if (table.starts[rank + 1] - token !== length) return false;
	const tokens = table.tokens.view;
	let offset = 0;
	for (; offset + 4 < length; offset += 4) {
		if (tokens.getInt32(token + offset, true) !== view.getInt32(start + offset, true)) return false;
	}
	const difference = tokens.getInt32(token + offset, true) ^ view.getInt32(start + offset, true);
	return (difference & lastWordMask(length - offset)) === 0;
}
