import { describe, expect, it } from "vitest";
import { createCounter, readEncoding } from "../../src/tokens/counter.ts";
import {
	createLongPieceCounter,
	createPieceMerger,
	leastTokens,
	longestMergedPiece,
	longestTokenBytes,
	mostTokens,
} from "../../src/tokens/merge.ts";
import { rankOf, readTokenTable } from "../../src/tokens/table.ts";
import { mergeWithHeap, readRanks } from "./heap-oracle.ts";
import { pathologicalTexts } from "./pathological-texts.ts";
import { createDraw, pick, randomText } from "./random-text.ts";
import { tableNames } from "./reference.ts";
import { mergePlainly, tableOf, trainedTokens, viewOf } from "./trained-table.ts";

describe("createLongPieceCounter", () => {
	it("agrees with plain merging on trained tables with frequent backtracking", () => {
		const draw = createDraw(3);
		let steppedBack = 0;
		for (let run = 0; run < 400; run++) {
			const letters = pick(["a", "ab", "abc"], draw);
			const trained = trainedTokens(draw, letters, 1 + draw(60));
			// One behind the last, so that a trained one at the end is no special case.
			const tokens = [...trained, "zz"];
			const counter = createLongPieceCounter(tableOf(tokens));
			for (let pieces = 0; pieces < 10; pieces++) {
				const piece = Array.from({ length: 1 + draw(120) }, () => pick([...letters], draw)).join("");
				const before = counter.steps();
				const counted = counter.count(viewOf(piece), 0, piece.length);
				expect([tokens, piece, counted]).toEqual([tokens, piece, mergePlainly(piece, tokens)]);
				if (counter.steps() - before > counted) steppedBack++;
			}
		}
		expect(steppedBack).toBeGreaterThan(500);
	});

	it("counts within a longer text, and again after a long piece", () => {
		const counter = createLongPieceCounter(tableOf(["ab", "abab"]));
		expect(counter.count(viewOf("xxababxx"), 2, 4)).toBe(1);
		expect(counter.count(viewOf("ab".repeat(100_001)), 0, 200_002)).toBe(50_001);
		expect(counter.count(viewOf("abababb"), 0, 7)).toBe(3);
	});
});

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
			piece = piece.slice(draw(4), longestMergedPiece);
			const expected = mergeWithHeap(piece, ranks);
			expect(merge(viewOf(piece), 0, piece.length).tokens).toBe(expected);
			expect(counter.count(viewOf(piece), 0, piece.length)).toBe(expected);
			if (expected > 2) several++;
		}
		expect(several).toBeGreaterThan(2000);
	});
});

describe("leastTokens and mostTokens", () => {
	it.each([
		["", 0, 0],
		["a", 1, 1],
		["漢", 1, 3],
		["\ud800", 1, 3],
		["\ud83d\ude00", 1, 4],
		["The quick brown fox", 4, 19],
		["don't 1a2", 4, 9],
		["e\u0301a", 1, 4],
		[" ".repeat(1280), 10, 1280],
	])("of %j are %i and %i", (text, least, most) => {
		expect([leastTokens(text), mostTokens(text)]).toEqual([least, most]);
	});

	it("finds the same starts as a pattern, at any position", () => {
		const draw = createDraw(10);
		for (let index = 0; index < 20_000; index++) {
			const text = Array.from({ length: draw(40) }, () => pick([..."aZz09'@[`{/: é漢\u007f"], draw)).join("");
			const starts = text.match(/(?<=^|[\0-&(-@[-`{-\x7f])[A-Za-z]+|(?<=^|[\0-&(-/:-\x7f])[0-9]+/g) ?? [];
			const least = Math.max(starts.length, Math.ceil(Buffer.byteLength(text) / longestTokenBytes));
			expect([text, leastTokens(text)]).toEqual([text, least]);
		}
	});

	it("loses at most one start per chunk of a long text", () => {
		const least = leastTokens("ab 12".repeat(100_000));
		expect(least).toBeLessThanOrEqual(200_000);
		expect(least).toBeGreaterThan(199_900);
	});
});

describe.each(tableNames)("leastTokens, mostTokens and the %s counter", (name) => {
	const encoding = readEncoding(name);
	const { count } = createCounter(encoding);

	function expectWithin(text: string): void {
		const [least, most] = [leastTokens(text), mostTokens(text)];
		const counted = count(text);
		if (least > counted || counted > most) expect([text, least, counted, most]).toBe("in order");
	}

	it("knows the longest token", () => {
		expect(encoding.table.longest).toBe(longestTokenBytes);
	});

	it("holds on random Unicode", () => {
		const draw = createDraw(8);
		let byWords = 0;
		for (let index = 0; index < 20_000; index++) {
			const text = randomText(draw);
			expectWithin(text);
			if (leastTokens(text) > Math.ceil(Buffer.byteLength(text) / longestTokenBytes)) byWords++;
		}
		expect(byWords).toBeGreaterThan(3000);
	});

	it("holds on short texts of letters, marks, digits and apostrophes", () => {
		const draw = createDraw(9);
		const alphabet = [..."aB1'\u0301é漢 .\n"];
		for (let index = 0; index < 50_000; index++) {
			expectWithin(Array.from({ length: 1 + draw(8) }, () => alphabet[draw(alphabet.length)]).join(""));
		}
	});

	it.each(pathologicalTexts)("holds on %s", (_kind, text) => {
		for (const length of [1, 2, 100, 5000]) expectWithin(text(length));
	});
});
