import { describe, expect, it } from "vitest";
import {
	createPieceBytes,
	createPieceCache,
	findLongPiece,
	hashBytes,
	hashThreeWords,
	lastWordMask,
	pieceCacheSize,
	rememberLongPiece,
} from "../../src/tokens/piece-cache.ts";
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

describe("the hash of a piece", () => {
	const bytesOf = (index: number, length: number) =>
		Array.from({ length }, (_, at) => String.fromCharCode((index * 31 + at * at * 7 + (index >> 3) * at) & 0xff)).join(
			"",
		);

	it("is the same of up to three words as of their bytes", () => {
		for (let length = 1; length <= 12; length++) {
			for (let index = 0; index < 20; index++) {
				const view = viewOf(`x${bytesOf(index, length)}yz`);
				const words = [0, 4, 8].map((at) =>
					at < length ? view.getInt32(1 + at, true) & lastWordMask(Math.min(4, length - at)) : 0,
				);
				const [first = 0, second = 0, third = 0] = words;
				expect(hashThreeWords(first, second, third, length)).toBe(hashBytes(view, 1, length));
			}
		}
	});

	it("depends on each byte and on the length, and on nothing after it", () => {
		for (let length = 1; length <= 21; length++) {
			const piece = "p".repeat(length);
			const hash = hashBytes(viewOf(piece), 0, length);
			expect(hashBytes(viewOf(`xx${piece}yy`), 2, length)).toBe(hash);
			expect(hashBytes(viewOf(`${piece}\0`), 0, length + 1)).not.toBe(hash);
			for (let at = 0; at < length; at++) {
				const other = `${piece.slice(0, at)}q${piece.slice(at + 1)}`;
				expect(hashBytes(viewOf(other), 0, length)).not.toBe(hash);
			}
		}
	});

	it("spreads like random numbers, in its lowest bits and in its highest", () => {
		const kinds = [
			(index: number) => `${index}`,
			(index: number) => `word${index.toString(2)}`,
			(index: number) => `${String.fromCharCode(index & 0xff, index >> 8)}same`,
			(index: number) => `a long one whose middle ${index} differs`,
		];
		for (const kind of kinds) {
			const hashes = Array.from({ length: 4_096 }, (_, index) => hashBytes(viewOf(kind(index)), 0, kind(index).length));
			for (const part of [(hash: number) => hash & 0xfff, (hash: number) => hash >>> 20]) {
				// Of so many places, random numbers leave 1507 free, give or take 60.
				const taken = new Set(hashes.map(part)).size;
				expect(taken).toBeGreaterThan(2_400);
				expect(taken).toBeLessThan(2_900);
			}
		}
	});
});

describe("the bytes of a piece", () => {
	it("can be read in words past the last one", () => {
		const { bytes, view, capacity } = createPieceBytes(5);
		expect([bytes.length, view.byteLength, capacity]).toEqual([21, 21, 5]);
	});

	it("are masked after the last one", () => {
		expect([1, 2, 3, 4].map(lastWordMask)).toEqual([0xff, 0xffff, 0xffffff, 0xffffffff]);
	});
});
