import { describe, expect, it, vi } from "vitest";
import { loadCounter } from "../../../src/formats/tokens/counter.ts";

/** The texts that were counted, and not remembered. */
const counted = vi.hoisted(() => ({ texts: [] as string[] }));

vi.mock(import("../../../src/formats/tokens/count-pieces.ts"), async (importOriginal) => {
	const original = await importOriginal();
	return {
		...original,
		createCounter(...given: Parameters<typeof original.createCounter>) {
			const { count } = original.createCounter(...given);
			const watched = (text: string) => {
				counted.texts.push(text);
				return count(text);
			};
			return { count: watched };
		},
	};
});

describe("a counted text", () => {
	it("is remembered from 1 025 characters on, and distinguished from others of its length", async () => {
		const count = await loadCounter("o200k_base");
		const [words, marks] = ["ab ".repeat(400), "é!".repeat(600)];
		counted.texts.length = 0;
		const first = [count(words), count(marks)];
		expect([count(words), count(marks)]).toEqual(first);
		expect(first[0]).not.toBe(first[1]);
		expect(counted.texts).toEqual([words, marks]);
		counted.texts.length = 0;
		for (const length of [1_024, 1_024, 1_025, 1_025]) count("a".repeat(length));
		expect(counted.texts.map((text) => text.length)).toEqual([1_024, 1_024, 1_025]);
	});

	it("is forgotten after 50 000 others, the oldest first", async () => {
		const count = await loadCounter("cl100k_base");
		const rest = " ".repeat(1_020);
		const textOf = (number: number) => `${100_000 + number}${rest}`;
		for (let number = 0; number <= 50_000; number += 1) count(textOf(number));
		counted.texts.length = 0;
		for (const number of [50_000, 1]) count(textOf(number));
		expect(counted.texts).toEqual([]);
		count(textOf(0));
		expect(counted.texts).toEqual([textOf(0)]);
	});
});

describe("loadCounter", () => {
	it("shares one counter per encoding", async () => {
		expect(await loadCounter("o200k_base")).toBe(await loadCounter("o200k_base"));
		expect(await loadCounter("o200k_base")).not.toBe(await loadCounter("cl100k_base"));
		// The two differ only in their special tokens.
		expect(await loadCounter("o200k_harmony")).toBe(await loadCounter("o200k_base"));
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
