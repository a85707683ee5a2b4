import { describe, expect, it } from "vitest";
import { rankOf, readTokenTable } from "../../../src/formats/tokens/table.ts";
import { readRanks } from "./heap-oracle.ts";
import { tableNames } from "./reference.ts";
import { viewOf } from "./trained-table.ts";

describe.each(tableNames)("the table of %s", (name) => {
	const table = readTokenTable(name);
	const ranks = readRanks(name);

	it("has each token at its rank", () => {
		let wrong = 0;
		for (const [token, rank] of ranks) if (rankOf(table, viewOf(token), 0, token.length) !== rank) wrong++;
		expect(wrong).toBe(0);
		expect(table.size).toBe(ranks.size);
		expect(table.longest).toBe(128);
	});

	it("has no other tokens", () => {
		let asked = 0;
		for (const token of ranks.keys()) {
			const changed = `${token.slice(0, -1)}${String.fromCharCode(token.charCodeAt(token.length - 1) ^ 1)}`;
			const longer = `${token}q`;
			for (const other of [changed, longer]) {
				if (ranks.has(other)) continue;
				asked++;
				if (rankOf(table, viewOf(other), 0, other.length) !== -1) expect(other).toBe("unknown");
			}
		}
		expect(asked).toBeGreaterThan(table.size);
	});

	it("takes at most 6 MB, none of it as objects", () => {
		const { tokens, starts, singles, pairs, slots, filter } = table;
		const arrays = [tokens.bytes, starts, singles, pairs, slots, filter];
		expect(arrays.reduce((sum, array) => sum + array.byteLength, 0)).toBeLessThan(6e6);
	});
});
