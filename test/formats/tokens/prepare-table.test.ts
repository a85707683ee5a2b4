import { describe, expect, it } from "vitest";
import { tokenFile } from "../../../src/formats/tokens/prepare-table.ts";
import { rankOf, type TokenTable, tableOfFile } from "../../../src/formats/tokens/table.ts";
import { linesOf, viewOf } from "./trained-table.ts";

describe("tokenFile", () => {
	const bytes = Array.from({ length: 256 }, (_, byte) => String.fromCharCode(byte));
	const tokens = [...bytes, "ab", "abc", "abcd", "\xff\xfe\xfd\xfc\xfb", "~".repeat(70)];

	it("holds each token's bytes, of every value and length", () => {
		const table = tableOfFile(tokenFile(linesOf(tokens), tokens.length)) as TokenTable;
		expect(tokens.map((token) => rankOf(table, viewOf(token), 0, token.length))).toEqual(tokens.map((_, rank) => rank));
		expect(table.tokens.capacity).toBe(tokens.join("").length);
		expect(Array.from(table.starts.slice(255))).toEqual([255, 256, 258, 261, 265, 270, 340]);
	});

	it("takes lines of which the last has no end", () => {
		const table = tableOfFile(tokenFile(linesOf(tokens).trimEnd(), tokens.length));
		expect(table?.size).toBe(tokens.length);
	});

	it("refuses lines of another number of tokens", () => {
		expect(() => tokenFile("YQ== 0\nYg== 1\n", 3)).toThrow(/3 tokens; got 2/);
		expect(() => tokenFile("YQ== 0\nYg== 1\n", 1)).toThrow(/1 tokens; got 2/);
		expect(() => tokenFile("", 1)).toThrow(/1 tokens; got 0/);
	});

	it("refuses lines whose ranks are not their places", () => {
		expect(() => tokenFile("YQ== 0\nYg== 2\n", 2)).toThrow(/rank 1; got 2/);
	});
});
