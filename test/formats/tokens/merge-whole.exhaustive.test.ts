import { describe, expect, it } from "vitest";
import { createLongPieceCounter, createPieceMerger } from "../../../src/formats/tokens/merge.ts";
import { rankOf, readTokenTable } from "../../../src/formats/tokens/table.ts";
import { mergeWithHeap, readRanks } from "./heap-oracle.ts";
import { createDraw } from "./random-text.ts";
import { tableNames } from "./reference.ts";
import { viewOf } from "./trained-table.ts";

/** In bytes: a longer piece takes quadratic time. */
const longestPiece = 128;

describe.each(tableNames)("the merges of %s", (name) => {
	const table = readTokenTable(name);
	const { starts, tokens, size } = table;

	it("make each token from two of lower ranks, as counting long pieces requires", () => {
		const merge = createPieceMerger(table);
		let checked = 0;
		for (let rank = 0; rank < size; rank++) {
			const start = starts[rank] ?? 0;
			const length = (starts[rank + 1] ?? 0) - start;
			if (length === 1) continue;
			const merged = merge(tokens.view, start, length);
			const first = rankOf(table, tokens.view, start, merged.lastSplit);
			const second = rankOf(table, tokens.view, start + merged.lastSplit, length - merged.lastSplit);
			if (merged.tokens !== 1 || first < 0 || second < 0 || first >= rank || second >= rank) {
				expect([rank, merged.tokens, first, second]).toBe("two tokens of lower ranks");
			}
			checked++;
		}
		expect(checked).toBe(size - 256);
	});

	it("are the same by plain merging, by backtracking and by a heap", () => {
		const ranks = readRanks(name);
		const merge = createPieceMerger(table);
		const counter = createLongPieceCounter(table);
		const draw = createDraw(11);
		let several = 0;
		for (let run = 0; run < 4000; run++) {
			// Bytes of tokens side by side, cut anywhere: they merge across, and back.
			let piece = "";
			while (piece.length < 10 + draw(100)) {
				const rank = draw(size);
				piece += Buffer.from(tokens.bytes.subarray(starts[rank], starts[rank + 1])).toString("latin1");
			}
			piece = piece.slice(draw(4), longestPiece);
			const expected = mergeWithHeap(piece, ranks);
			expect(merge(viewOf(piece), 0, piece.length).tokens).toBe(expected);
			expect(counter.count(viewOf(piece), 0, piece.length)).toBe(expected);
			if (expected > 2) several++;
		}
		expect(several).toBeGreaterThan(2000);
	});
});
