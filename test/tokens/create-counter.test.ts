import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { createCounter } from "../../src/tokens/create-counter.ts";
import { createPieceCache, findLongPiece, pieceCacheSize, rememberLongPiece } from "../../src/tokens/piece-cache.ts";
import { readEncoding } from "../../src/tokens/read-encoding.ts";
import { createDraw, randomText } from "./random-text.ts";
import { tableNames } from "./reference.ts";
import { viewOf } from "./trained-table.ts";

const tiny = { short: 16, slots: 16, words: 64 };

describe.each(tableNames)("the %s counter's memory", (name) => {
	const encoding = readEncoding(name);

	it("changes no count: cold, warm, full and in any order", () => {
		const draw = createDraw(5);
		const texts = Array.from({ length: 1500 }, () => randomText(draw));
		const counts = texts.map((text) => createCounter(encoding, tiny).count(text));
		const shared = createCounter(encoding);
		const crowded = createCounter(encoding, tiny);
		for (let pass = 0; pass < 2; pass++) {
			expect(texts.map(shared.count)).toEqual(counts);
			expect(texts.map(crowded.count)).toEqual(counts);
		}
		expect(texts.toReversed().map(shared.count)).toEqual(counts.toReversed());
		expect(texts.toReversed().map(crowded.count)).toEqual(counts.toReversed());
	});

	it("stays as it was made, whatever is counted", () => {
		const counter = createCounter(encoding);
		const made = counter.keptBytes();
		expect(made).toBeLessThan(8e6);
		const draw = createDraw(6);
		for (let index = 0; index < 12; index++) {
			counter.count(Array.from({ length: 20_000 }, () => ` w${draw(2 ** 31).toString(36)}`).join(""));
			counter.count("漢字仮名".repeat(index * 20_000));
			expect(counter.keptBytes()).toBe(made);
		}
	});
});

describe("createPieceCache", () => {
	const view = viewOf(Array.from({ length: 4000 }, (_, index) => String.fromCharCode(index % 251)).join(""));

	it("knows a piece by all of its bytes, not by its hash", () => {
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

	it("never holds more than its size, and lets go of what is not asked for any more", () => {
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

describe("the heap", () => {
	it("does not grow by the texts that were counted", () => {
		setFlagsFromString("--expose-gc");
		const collect: () => void = runInNewContext("gc");
		const { count } = createCounter(readEncoding("o200k_base"));
		const makeText = (index: number) => `w${index}é `.repeat(150_000);

		function used(): number {
			collect();
			const { heapUsed, external } = process.memoryUsage();
			return heapUsed + external;
		}

		count(makeText(0));
		const before = used();
		let counted = 0;
		for (let index = 1; index <= 60; index++) counted += count(makeText(index));
		expect(counted).toBeGreaterThan(60 * 100_000);
		expect(used() - before).toBeLessThan(10e6);
	});
});
