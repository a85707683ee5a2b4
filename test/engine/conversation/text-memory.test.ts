import { describe, expect, it } from "vitest";
import { createTextMemory } from "../../../src/engine/conversation/text-memory.ts";

describe("createTextMemory", () => {
	it.each([3, 20_000])("returns the last fact that was remembered of a text of %i characters", (length) => {
		const memory = createTextMemory<number>();
		const [text, other] = ["a".repeat(length), `${"a".repeat(length - 1)}b`];
		expect(memory.find(text)).toBeUndefined();
		memory.remember(text, 1);
		memory.remember(text, 2);
		memory.remember(other, 3);
		expect([memory.find(text), memory.find(other)]).toEqual([2, 3]);
	});

	it("finds each of 700 long texts of one length", () => {
		const memory = createTextMemory<number>();
		const texts = Array.from({ length: 700 }, (_, index) => `${"a".repeat(20_000)}${String(index).padStart(4, "0")}`);
		for (const [index, text] of texts.entries()) memory.remember(text, index);
		expect(texts.map((text) => memory.find(text))).toEqual(texts.map((_, index) => index));
	});

	it("never gives a long text the fact of another one with the same hash", () => {
		const memory = createTextMemory<number>();
		// Found by search: these two have the same hash, so the second takes the place of the first.
		const [text, other] = ["hpfo", "0rja"].map((end) => `${"a".repeat(20_000)}${end}`) as [string, string];
		memory.remember(text, 1);
		expect(memory.find(text)).toBe(1);
		memory.remember(other, 2);
		expect([memory.find(text), memory.find(other)]).toEqual([undefined, 2]);
	});

	it("is full once that many characters were remembered", () => {
		const memory = createTextMemory<number>(6);
		memory.remember("abc", 1);
		expect(memory.isFull()).toBe(false);
		memory.remember("def", 2);
		expect(memory.isFull()).toBe(true);
		memory.remember("x", 3);
		expect([memory.find("def"), memory.find("x")]).toEqual([2, undefined]);
	});
});
