import { describe, expect, it } from "vitest";
import {
	createPieceCache,
	findLongPiece,
	pieceCacheSize,
	rememberLongPiece,
} from "../../../src/formats/tokens/piece-cache.ts";
import { viewOf } from "./trained-table.ts";

describe("createPieceCache", () => {
	const view = viewOf(Array.from({ length: 4000 }, (_, index) => String.fromCharCode(index % 251)).join(""));

	it("identifies a piece by all of its bytes, not by its hash", () => {
		const cache = createPieceCache(pieceCacheSize);
		rememberLongPiece(cache, { view, start: 0, length: 21, hash: 7, tokens: 5 });
		expect(findLongPiece(cache, view, 0, 21, 7)).toBe(5);
		expect(findLongPiece(cache, view, 251, 21, 7)).toBe(5);
		for (const [start, length] of [
			[0, 20],
			[0, 22],
			[1, 21],
			[0, 13],
		] as const) {
			expect(findLongPiece(cache, view, start, length, 7)).toBe(0);
		}
		for (let changed = 0; changed < 21; changed++) {
			const bytes = new Uint8Array(view.buffer.slice(0, 64));
			bytes[changed] = (bytes[changed] ?? 0) ^ 0x80;
			expect(findLongPiece(cache, new DataView(bytes.buffer), 0, 21, 7)).toBe(0);
		}
	});

	it("finds each of many pieces whose hashes share a slot, a tag or all but the sign", () => {
		const cache = createPieceCache({ short: 16, slots: 256, words: 1024 });
		const hashes = Array.from(
			{ length: 100 },
			(_, index) => [7, 7 + (index << 10), -1 - index, 7 | (index << 25)][index % 4] ?? 0,
		);
		for (const [start, hash] of hashes.entries()) {
			expect(findLongPiece(cache, view, start, 21, hash)).toBe(0);
			rememberLongPiece(cache, { view, start, length: 21, hash, tokens: 1 + start });
		}
		expect(hashes.map((hash, start) => findLongPiece(cache, view, start, 21, hash))).toEqual(
			hashes.map((_, start) => 1 + start),
		);
	});

	it("never exceeds its size, and evicts unused pieces", () => {
		const cache = createPieceCache({ short: 16, slots: 64, words: 512 });
		const remember = (start: number) =>
			rememberLongPiece(cache, { view, start, length: 20, hash: start * 31, tokens: 3 });
		for (let start = 0; start < 200; start++) {
			remember(start);
			expect(cache.used).toBeLessThanOrEqual(512);
			expect(cache.filled).toBeLessThanOrEqual(48);
		}
		for (let start = 200; start < 248; start++) remember(start);
		const known = Array.from({ length: 248 }, (_, start) => findLongPiece(cache, view, start, 20, start * 31) > 0);
		expect(known.slice(0, 96)).not.toContain(true);
		expect(known.slice(96)).toContain(true);
	});
});
