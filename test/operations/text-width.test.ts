import { expect, it } from "vitest";
import { columnsOf, endOf } from "../../src/operations/text-width.ts";

it.each([
	["read", 4],
	["读取文件", 8],
	["한국어", 6],
	["ツール", 6],
	["ｆｕ", 4],
	["ｱｲ", 2],
	["e\u0301", 1],
	["👩‍👩‍👧‍👦", 2],
	["🇩🇪🇫🇷", 4],
	["❤️", 2],
	["…—·", 3],
	["a\u200b", 1],
])("%s takes %i columns", (text, columns) => {
	expect(columnsOf(text)).toBe(columns);
});

it("the end of a text has at most so many columns, and whole signs", () => {
	expect(endOf("读取文件", 6)).toBe("…文件");
	expect(endOf("a👩‍👩‍👧‍👦b", 3)).toBe("…b");
	expect(endOf("x🇩🇪🇫🇷", 5)).toBe("x🇩🇪🇫🇷");
	for (let longest = 1; longest < 12; longest += 1)
		expect(columnsOf(endOf("读a取e\u0301文👍件", longest))).toBeLessThanOrEqual(longest);
});
