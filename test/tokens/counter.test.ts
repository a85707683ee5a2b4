import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { createCounter, createCountMemo, loadCounter, readEncoding } from "../../src/tokens/counter.ts";
import { createPieceCache, findLongPiece, pieceCacheSize, rememberLongPiece } from "../../src/tokens/piece-cache.ts";
import { createDraw, randomText } from "./random-text.ts";
import { encodingNames, reference, tableNames } from "./reference.ts";
import { viewOf } from "./trained-table.ts";

function countingLengths() {
	const asked: string[] = [];
	return {
		asked,
		count: (text: string) => {
			asked.push(text);
			return text.length;
		},
	};
}

describe("createCountMemo", () => {
	it("counts a text once", () => {
		const { asked, count } = countingLengths();
		const memo = createCountMemo(count, { entries: 10, shortText: 4 });
		expect([memo.count("long text"), memo.count("long text")]).toEqual([9, 9]);
		expect(asked).toEqual(["long text"]);
	});

	it("distinguishes texts of equal length", () => {
		const memo = createCountMemo((text) => (text.startsWith("a") ? 1 : 2), { entries: 10, shortText: 4 });
		const tail = "x".repeat(20_000);
		expect([memo.count(`a${tail}`), memo.count(`b${tail}`), memo.count(`a${tail}`)]).toEqual([1, 2, 1]);
	});

	it("does not remember short texts", () => {
		const { asked, count } = countingLengths();
		const memo = createCountMemo(count, { entries: 10, shortText: 4 });
		memo.count("four");
		memo.count("four");
		expect(asked).toHaveLength(2);
		expect(memo.size()).toBe(0);
	});

	it("never exceeds its limit, and evicts the oldest count", () => {
		const { asked, count } = countingLengths();
		const memo = createCountMemo(count, { entries: 100, shortText: 4 });
		for (let index = 0; index < 1000; index++) {
			memo.count(`text number ${index}`);
			expect(memo.size()).toBeLessThanOrEqual(100);
		}
		expect(memo.size()).toBe(100);
		asked.length = 0;
		memo.count("text number 999");
		memo.count("text number 900");
		expect(asked).toEqual([]);
		memo.count("text number 899");
		expect(asked).toEqual(["text number 899"]);
	});
});

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
});

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

describe("the heap", () => {
	it("does not grow with the counted texts", () => {
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

describe("loadCounter", () => {
	it("shares one counter per encoding", async () => {
		expect(await loadCounter("o200k_base")).toBe(await loadCounter("o200k_base"));
		expect(await loadCounter("o200k_base")).not.toBe(await loadCounter("cl100k_base"));
	});

	it("gives known counts", async () => {
		const o200k = await loadCounter("o200k_base");
		const cl100k = await loadCounter("cl100k_base");
		expect(o200k("hello world")).toBe(2);
		expect(cl100k("hello world")).toBe(2);
		expect(o200k("This is a test")).toBe(4);
		expect(cl100k("This is a test")).toBe(4);
		expect(o200k("a".repeat(8))).toBe(1);
	});
});

describe.each(encodingNames)("the %s counter", (encoding) => {
	it("counts the empty text as zero", async () => {
		const count = await loadCounter(encoding);
		expect(count("")).toBe(0);
	});

	it.each([
		"<|endoftext|>",
		"<|im_start|>",
		"<|im_end|>",
		"<|im_sep|>",
		"<|fim_prefix|>",
		"<|fim_middle|>",
		"<|fim_suffix|>",
		"<|endofprompt|>",
		"<|startoftext|>",
		"<|start|>",
		"<|end|>",
		"<|message|>",
		"<|channel|>",
		"<|call|>",
		"<|return|>",
		"<|reserved_200013|>",
	])("counts %s as ordinary text", async (special) => {
		const count = await loadCounter(encoding);
		expect(count(special)).toBeGreaterThan(1);
		expect(count(special)).toBe(reference[encoding](special));
		const within = `say ${special}${special} and ${"=".repeat(200)}${special}`;
		expect(count(within)).toBe(reference[encoding](within));
	});

	it.each([
		["a high surrogate", "a\ud800b", "a\ufffdb"],
		["a low surrogate", "a\udc00b", "a\ufffdb"],
		["a reversed pair", "\udc00\ud800", "\ufffd\ufffd"],
		["one at the end", "text \ud83d", "text \ufffd"],
		["a run of them", "\ud800".repeat(300), "\ufffd".repeat(300)],
	])("counts %s as U+FFFD", async (_name, text, wellFormed) => {
		const count = await loadCounter(encoding);
		expect(count(text)).toBe(reference[encoding](wellFormed));
	});
});
