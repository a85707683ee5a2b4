import { describe, expect, it } from "vitest";
import { hashBytes } from "../../../src/formats/tokens/piece-cache.ts";
import { findToken, isToken, rankOf, type TokenTable, tableOfFile } from "../../../src/formats/tokens/table.ts";
import { createDraw, pick } from "./random-text.ts";
import { fileOf, tableOf, viewOf } from "./trained-table.ts";

describe("a table", () => {
	it("finds tokens of every length up to the longest", () => {
		const tokens = Array.from({ length: 60 }, (_, index) => "ab".repeat(index + 1).slice(0, index + 2));
		const table = tableOf(tokens);
		expect(table.longest).toBe(61);
		expect(table.size).toBe(316);
		for (const [index, token] of tokens.entries()) {
			expect(rankOf(table, viewOf(`${token}b`), 0, token.length)).toBe(256 + index);
			expect(rankOf(table, viewOf(`x${token}`), 1, token.length)).toBe(256 + index);
		}
		expect(rankOf(table, viewOf("ab".repeat(40)), 0, 80)).toBe(-1);
	});

	it("finds each of many tokens, and no other piece", () => {
		const draw = createDraw(7);
		const letters = Array.from({ length: 256 }, (_, byte) => String.fromCharCode(byte));
		const drawn = Array.from({ length: 3_000 }, () =>
			Array.from({ length: 2 + draw(12) }, () => pick(letters, draw)).join(""),
		);
		const tokens = [...new Set(drawn)];
		const table = tableOf(tokens);
		const found = tokens.map((token) => rankOf(table, viewOf(token), 0, token.length));
		expect(found).toEqual(tokens.map((_, index) => 256 + index));
		for (let byte = 0; byte < 256; byte++) {
			expect(rankOf(table, viewOf(String.fromCharCode(byte)), 0, 1)).toBe(byte);
			expect(table.singles[byte]).toBe(byte);
		}
		const known = new Set(tokens);
		const others = tokens.flatMap((token) => [
			`${token}\0`,
			`${token.slice(0, -1)}${String.fromCharCode(token.charCodeAt(token.length - 1) ^ 1)}`,
		]);
		const unknown = others.filter((other) => other.length > 1 && !known.has(other));
		expect(unknown.length).toBeGreaterThan(5_000);
		expect(unknown.filter((other) => rankOf(table, viewOf(other), 0, other.length) !== -1)).toEqual([]);
		const twos = new Map(tokens.flatMap((token, index) => (token.length === 2 ? [[token, 256 + index]] : [])));
		const pairs = letters.flatMap((first) => letters.map((second) => twos.get(first + second) ?? -1));
		expect(Array.from(table.pairs)).toEqual(pairs);
	});

	it("tells tokens of the same hash by their bytes", () => {
		const table = tableOf(["abc", "abd", "abcdefgh"]);
		const hash = hashBytes(viewOf("abc"), 0, 3);
		expect(findToken(table, viewOf("abc"), 0, 3, hash)).toBe(256);
		for (const other of ["abd", "xbc", "axc", "abx"]) expect(findToken(table, viewOf(other), 0, 3, hash)).toBe(-1);
		const long = hashBytes(viewOf("abcdefgh"), 0, 8);
		for (let at = 0; at < 8; at++) {
			const other = `${"abcdefgh".slice(0, at)}x${"abcdefgh".slice(at + 1)}`;
			expect(findToken(table, viewOf(other), 0, 8, long), other).toBe(-1);
			expect(isToken(table, 258, viewOf(other), 0, 8), other).toBe(false);
		}
		expect(isToken(table, 258, viewOf("xabcdefgh"), 1, 8)).toBe(true);
		expect(isToken(table, 256, viewOf("abcdefgh"), 0, 4)).toBe(false);
		expect(isToken(table, 256, viewOf("abc"), 0, 2)).toBe(false);
	});

	it("reads hardly any place of the table for a piece that is not a token, and few for one that is", () => {
		const tokens = Array.from({ length: 4_000 }, (_, index) => `token ${index * 7}`);
		const { slots, ...rest } = tableOf(tokens);
		let reads = 0;
		const watched = new Proxy(slots, {
			get(target, key) {
				if (key === "length") return target.length;
				reads++;
				return Reflect.get(target, key);
			},
		});
		const table = { ...rest, slots: watched };
		expect(slots.length).toBeGreaterThan(2 * 4_256);
		expect(slots.length).toBeLessThanOrEqual(4 * 4_256);
		const readsFor = (texts: readonly string[]) => {
			reads = 0;
			for (const text of texts) rankOf(table, viewOf(text), 0, text.length);
			return reads / texts.length;
		};
		expect(readsFor(tokens)).toBeLessThan(1.8);
		expect(readsFor(tokens.map((token) => `${token}x`))).toBeLessThan(0.1);
		expect(readsFor(["token 1".repeat(9), "xy", "ab"])).toBe(0);
	});
});

describe("tableOfFile", () => {
	const tokens = ["ab", "abc", "abcd", "\xff\xfe\xfd\xfc\xfb", "~".repeat(70)];
	const table = tableOf(tokens);
	const file = fileOf(tokens);
	const numbers = ["starts", "singles", "pairs", "slots"] as const;
	// vitest takes seconds to compare long typed arrays.
	const bytesOf = (array: Int32Array | Uint8Array = new Uint8Array()) =>
		Buffer.from(array.buffer, array.byteOffset, array.byteLength);
	const areSame = (read: TokenTable | undefined) =>
		[...numbers, "filter" as const].every((name) => bytesOf(read?.[name]).equals(bytesOf(table[name])));

	it("reads the table that was written", () => {
		const read = tableOfFile(file);
		expect(read).toMatchObject({ size: 261, longest: 70 });
		expect(areSame(read)).toBe(true);
		expect(bytesOf(read?.tokens.bytes).equals(table.tokens.bytes)).toBe(true);
		expect(tokens.map((token) => read && rankOf(read, viewOf(token), 0, token.length))).toEqual([
			256, 257, 258, 259, 260,
		]);
	});

	it.each([4, 7])("reads it at byte %i of a larger memory, and does not change it", (offset) => {
		const memory = new Uint8Array(file.length + 20);
		memory.set(file, offset);
		const within = memory.subarray(offset, offset + file.length);
		expect(areSame(tableOfFile(within))).toBe(true);
		expect(bytesOf(within).equals(file)).toBe(true);
	});

	it("swaps the bytes of its numbers on a big-endian machine", () => {
		const read = tableOfFile(file.slice(), "BE");
		expect(read).toMatchObject({ size: 261, longest: 70 });
		for (const name of numbers) {
			const swapped = Buffer.from(bytesOf(table[name])).swap32();
			expect(bytesOf(read?.[name]).equals(swapped), name).toBe(true);
		}
		expect(bytesOf(read?.filter).equals(table.filter)).toBe(true);
	});

	it("refuses a file that is not whole or of another version", () => {
		const other = file.slice();
		other[0] = 99;
		const longer = new Uint8Array(file.length + 1);
		longer.set(file);
		for (const damaged of [other, longer, file.slice(0, -1), file.slice(0, 15), new Uint8Array(0)]) {
			expect(tableOfFile(damaged)).toBeUndefined();
		}
	});
});
