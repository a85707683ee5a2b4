import { describe, expect, it } from "vitest";
import { createCountMemo } from "../../src/tokens/count-memo.ts";

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

	it("tells texts of equal length apart", () => {
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

	it("never holds more counts than its limit, and lets the oldest go", () => {
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
