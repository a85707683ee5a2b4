import { describe, expect, it } from "vitest";
import { parseTokenTable } from "../../src/tokens/prepare-table.ts";
import { rankOf } from "../../src/tokens/table.ts";
import { viewOf } from "./trained-table.ts";

describe("parseTokenTable", () => {
	const bytes = Array.from({ length: 256 }, (_, byte) => String.fromCharCode(byte));
	const lineOf = (token: string, rank: number) => `${Buffer.from(token, "latin1").toString("base64")} ${rank}\n`;
	const tokens = [...bytes, "ab", "abc", "abcd", "\xff\xfe\xfd\xfc\xfb", "~".repeat(70)];

	it("reads each token's bytes, of every value and length", () => {
		const table = parseTokenTable(tokens.map(lineOf).join(""), tokens.length);
		expect(tokens.map((token) => rankOf(table, viewOf(token), 0, token.length))).toEqual(tokens.map((_, rank) => rank));
		expect(table.tokens.capacity).toBe(tokens.join("").length);
		expect(Array.from(table.starts.slice(255))).toEqual([255, 256, 258, 261, 265, 270, 340]);
	});

	it("reads a file whose last line has no end", () => {
		const text = tokens.map(lineOf).join("").trimEnd();
		expect(parseTokenTable(text, tokens.length).size).toBe(tokens.length);
	});

	it("refuses a file with another number of tokens", () => {
		expect(() => parseTokenTable("YQ== 0\nYg== 1\n", 3)).toThrow(/3 tokens; got 2/);
		expect(() => parseTokenTable("YQ== 0\nYg== 1\n", 1)).toThrow(/1 tokens; got 2/);
		expect(() => parseTokenTable("", 1)).toThrow(/1 tokens; got 0/);
	});

	it("refuses a file whose ranks are not those of its lines", () => {
		expect(() => parseTokenTable("YQ== 0\nYg== 2\n", 2)).toThrow(/rank 1; got 2/);
	});
});
