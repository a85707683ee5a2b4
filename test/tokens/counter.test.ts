import { describe, expect, it } from "vitest";
import { createCountMemo, loadCounter } from "../../src/tokens/counter.ts";

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
