import { describe, expect, it } from "vitest";
import { createCounter } from "../../../src/formats/tokens/count-pieces.ts";
import { cl100kPieceEnd, createAsciiPieces, o200kPieceEnd } from "../../../src/formats/tokens/pieces.ts";
import type { TableName, TokenTable } from "../../../src/formats/tokens/table.ts";
import { piecesOf } from "./heap-oracle.ts";
import { createDraw, pick } from "./random-text.ts";
import { mergePlainly, tableOf, trainedTokens } from "./trained-table.ts";

const names: readonly TableName[] = ["o200k_base", "cl100k_base"];

const tiny = { short: 2, slots: 16, words: 64 };

const draw = createDraw(29);

/** Some tokens over two letters, and symbols, up to the longest that a small table has. */
const tokens = [
	...trainedTokens(draw, "ab", 120),
	" a",
	" b",
	"!!",
	"!!!",
	"\xc3\xa9",
	...Array.from({ length: 12 }, (_, index) => "!".repeat(index + 4)),
];

/** The tokens of a piece, as asked for before. */
const counted = new Map(tokens.map((token) => [token, 1]));

function encodingOf(name: TableName, table: TokenTable = tableOf(tokens)) {
	const pieceEnd = name === "o200k_base" ? o200kPieceEnd : cl100kPieceEnd;
	return { table, asciiPieces: createAsciiPieces(name), pieceEnd };
}

/** By the definition: the pattern's pieces, each a token or merged. */
function plainCount(name: TableName, text: string): number {
	return piecesOf(name, text).reduce((sum, piece) => {
		const bytes = Buffer.from(piece).toString("latin1");
		const own = counted.get(bytes) ?? mergePlainly(bytes, tokens);
		counted.set(bytes, own);
		return sum + own;
	}, 0);
}

const word = (length: number) => Array.from({ length }, () => pick(["a", "b"], draw)).join("");

const lengths = [...Array.from({ length: 40 }, (_, index) => index), 127, 128, 129, 300];

const texts = [
	"",
	...lengths.map(word),
	...lengths.map((length) => `${word(length)} ${word(length)}`),
	...lengths.map((length) => "!".repeat(length)),
	...Array.from({ length: 150 }, () =>
		Array.from({ length: 1 + draw(9) }, () =>
			pick([word(draw(18)), " ", "é", "漢", "!", "\n", "'s", "7", "😀", "A"], draw),
		).join(""),
	),
];

describe.each(names)("the counter of a small table, in the pieces of %s", (name) => {
	it("counts the tokens that merging leaves of each piece: new, remembered, and with little memory", () => {
		const expected = texts.map((text) => plainCount(name, text));
		const counter = createCounter(encodingOf(name));
		const crowded = createCounter(encodingOf(name), tiny);
		expect(texts.map(counter.count)).toEqual(expected);
		expect(texts.map(counter.count)).toEqual(expected);
		expect(texts.map(crowded.count)).toEqual(expected);
		expect(texts.toReversed().map(crowded.count)).toEqual(expected.toReversed());
	});
});

describe("a remembered piece", () => {
	it("is distinguished from pieces that differ in one byte or end in NUL", () => {
		for (let length = 3; length <= 20; length++) {
			const { count } = createCounter(encodingOf("o200k_base"), tiny);
			const piece = "!".repeat(length);
			const others = Array.from({ length }, (_, at) => `${piece.slice(0, at)}?${piece.slice(at + 1)}`);
			for (const other of [...others, `${piece}\0`, piece.slice(1)]) {
				for (const text of [piece, other, piece, other]) expect(count(text), text).toBe(plainCount("o200k_base", text));
			}
		}
	});

	it("is not pushed out by pieces that are too long to be remembered", () => {
		const ask = counting({ short: 2, slots: 16, words: 512 });
		const piece = "!".repeat(15);
		expect(ask(piece)).toBe(1);
		const { count } = ask;
		for (const length of [1_025, 1_026, 1_027, 1_028]) count("!".repeat(length));
		expect(ask(piece)).toBe(0);
	});

	/** Counts how often the table is asked for a token. */
	function counting(size = tiny) {
		const { filter, ...table } = tableOf(tokens);
		let asked = 0;
		const watched = {
			...table,
			get filter() {
				asked++;
				return filter;
			},
		};
		const { count } = createCounter(encodingOf("o200k_base", watched), size);
		const ask = (text: string) => {
			asked = 0;
			expect(count(text)).toBe(1);
			return asked;
		};
		return Object.assign(ask, { count });
	}

	it("is not looked up again, and each two of those that share a place stay", () => {
		for (const at of [4, 9]) {
			const ask = counting();
			const [first = "", second = "", third = ""] = [0, 1, 2].map((more) => "!".repeat(at + more));
			expect([first, second, first, second].map((text) => ask(text))).toEqual([1, 1, 0, 0]);
			expect([third, second, third].map((text) => ask(text))).toEqual([1, 0, 0]);
			expect([first, third, first].map((text) => ask(text))).toEqual([1, 0, 0]);
			expect([second, first].map((text) => ask(text))).toEqual([1, 0]);
		}
	});

	it("is found with any text after it in the counter's buffer", () => {
		for (let length = 3; length <= 15; length++) {
			const ask = counting();
			const piece = "!".repeat(length);
			expect(ask(piece)).toBe(1);
			for (const other of ["7".repeat(40), "\n".repeat(30)]) {
				ask.count(other.slice(0, 2).padEnd(40, "7"));
				ask.count(piece + other);
				expect(ask(piece), piece).toBe(0);
			}
		}
	});

	it("is found among all of a larger memory", () => {
		const ask = counting({ short: 1 << 10, slots: 1 << 10, words: 1 << 12 });
		const pieces = tokens.filter((token) => token.length > 2 && !/[^ab!]/.test(token));
		expect(pieces.length).toBeGreaterThan(100);
		expect(pieces.map((text) => ask(text))).toEqual(pieces.map(() => 1));
		expect(pieces.map((text) => ask(text))).toEqual(pieces.map(() => 0));
	});
});

describe("a text that is longer than the counter's buffer", () => {
	// 16 384 UTF-16 code units fit in the buffer at once.
	const part = 16_384;
	const pieces = (length: number, of: string) => of.repeat(Math.ceil(length / of.length)).slice(0, length);

	it.each(names)("has the sum of its pieces in %s, wherever the buffer ends", (name) => {
		const { count } = createCounter(encodingOf(name));
		for (const shift of [0, 1, 2, 3]) {
			for (const unit of ["ab ", "😀 ", "漢é!", "a'll "]) {
				const text = `${"!".repeat(shift)} ${pieces(part + 20, unit)}`.toWellFormed();
				const whole = count(text);
				expect(whole, JSON.stringify([shift, unit])).toBe(plainCount(name, text));
			}
		}
	});

	it("may be one piece, after which others are counted as before", () => {
		const { count } = createCounter(encodingOf("o200k_base"));
		// Merging makes pairs, then fours, then eights.
		for (const length of [part, 3 * part, 8 * part]) {
			expect(count("!".repeat(length))).toBe(length / 8);
			expect(count("!!! a")).toBe(2);
		}
	});

	it.each(names)("may hold pieces that fill much of the buffer, in %s", (name) => {
		const { count } = createCounter(encodingOf(name));
		// The table has no token of these bytes, so that each of a character's three bytes is one.
		for (const [characters, times] of [
			[4_000, 9],
			[7_000, 7],
			[9_000, 5],
			[40_000, 3],
		] as const) {
			const piece = `，${"漢".repeat(characters)}`;
			expect(count(piece.repeat(times)), `${characters}`).toBe(3 * (1 + characters) * times);
		}
	});
});
