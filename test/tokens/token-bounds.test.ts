import { describe, expect, it } from "vitest";
import { createCounter } from "../../src/tokens/create-counter.ts";
import { readEncoding } from "../../src/tokens/read-encoding.ts";
import { leastTokens, longestTokenBytes, mostTokens, tokenBounds } from "../../src/tokens/token-bounds.ts";
import { pathologicalTexts } from "./pathological-texts.ts";
import { createDraw, pick, randomText } from "./random-text.ts";
import { tableNames } from "./reference.ts";

describe("tokenBounds", () => {
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
		expect(tokenBounds(text)).toEqual({ least, most });
		expect([leastTokens(text), mostTokens(text)]).toEqual([least, most]);
	});

	it("finds the same starts as a pattern does, wherever they stand", () => {
		const draw = createDraw(10);
		for (let index = 0; index < 20_000; index++) {
			const text = Array.from({ length: draw(40) }, () => pick([..."aZz09'@[`{/: é漢\u007f"], draw)).join("");
			const starts = text.match(/(?<=^|[\0-&(-@[-`{-\x7f])[A-Za-z]+|(?<=^|[\0-&(-/:-\x7f])[0-9]+/g) ?? [];
			const least = Math.max(starts.length, Math.ceil(Buffer.byteLength(text) / longestTokenBytes));
			expect([text, tokenBounds(text).least]).toEqual([text, least]);
		}
	});

	it("loses at most one start to each chunk of a long text", () => {
		const { least } = tokenBounds("ab 12".repeat(100_000));
		expect(least).toBeLessThanOrEqual(200_000);
		expect(least).toBeGreaterThan(199_900);
	});
});

describe.each(tableNames)("tokenBounds and the %s counter", (name) => {
	const encoding = readEncoding(name);
	const { count } = createCounter(encoding);

	function expectWithin(text: string): void {
		const { least, most } = tokenBounds(text);
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
			if (tokenBounds(text).least > Math.ceil(Buffer.byteLength(text) / longestTokenBytes)) byWords++;
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
