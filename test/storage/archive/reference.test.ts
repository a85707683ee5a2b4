import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { loadCounter } from "../../../src/formats/tokens/counter.ts";
import {
	formsOfRef,
	hashPrefixOfRef,
	nearRefs,
	prefixesNear,
	refOfHash,
	refPattern,
	tidyRef,
} from "../../../src/storage/archive/reference.ts";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const hashes = Array.from({ length: 2000 }, (_, index) => sha256(`original ${index}`));
const refs = hashes.map(refOfHash);
const forms = refs.map(formsOfRef);
const symbols = "0123456789abcdefghijklmnopqrstuvwxyz";

/** RFC 4648, section 6, by its table: five bits are a character. */
function base32(hash: string): string {
	const bits = Array.from(hash.slice(0, 15), (digit) => Number.parseInt(digit, 16).toString(2).padStart(4, "0")).join(
		"",
	);
	const fives = bits.match(/.{5}/g) ?? [];
	return fives.map((five) => "abcdefghijklmnopqrstuvwxyz234567"[Number.parseInt(five, 2)]).join("");
}

describe("a ref", () => {
	it("is the first 60 bits of the hash in base 32, and decodes to them", () => {
		const isBase32 = (hash: string) => {
			const ref = refOfHash(hash);
			expect(ref).toBe(base32(hash));
			expect(ref).toMatch(new RegExp(`^${refPattern}$`));
			expect(hashPrefixOfRef(ref)).toBe(hash.slice(0, 15));
		};
		fc.assert(fc.property(fc.stringMatching(/^[0-9a-f]{64}$/), isBase32), { numRuns: 2000 });
		expect(refOfHash(sha256(""))).toBe("4oymiquy7qob");
		expect(refOfHash("0".repeat(64))).toBe("aaaaaaaaaaaa");
		expect(refOfHash("f".repeat(64))).toBe("777777777777");
	});

	it("takes 7 tokens on average in both encodings, at most 12", async () => {
		for (const count of [await loadCounter("o200k_base"), await loadCounter("cl100k_base")]) {
			const without = count("12 chars, ref=)]");
			const sizes = refs.map((ref) => count(`12 chars, ref=${ref})]`) - without);
			expect(Math.max(...sizes)).toBeLessThanOrEqual(12);
			expect(sizes.reduce((sum, size) => sum + size, 0) / sizes.length).toBeLessThan(7.5);
		}
	});

	it("has the two forms of older versions, which name the same text", () => {
		expect(formsOfRef(refOfHash(sha256("")))).toEqual(["4oymiquy7qob", "noy195ut", "ve798re306ji825wo179"]);
		expect(formsOfRef(refOfHash("0".repeat(64)))).toEqual(["aaaaaaaaaaaa", "aaa000aa", "ba000ba000ba000ba000"]);
		expect(formsOfRef(refOfHash("f".repeat(64)))[1]).toBe("pia030tl");
		for (const [index, of] of forms.entries()) {
			const hash = hashes[index] as string;
			expect(of.map(hashPrefixOfRef)).toEqual([hash.slice(0, 15), hash.slice(0, 8), hash.slice(0, 15)]);
			for (const form of of) expect(form).toMatch(new RegExp(`^${refPattern}$`));
		}
	});

	it("with one wrong character or two swapped neighbours never names the same text, in any form", () => {
		const wrong: string[] = [];
		for (const ref of forms.slice(0, 100).flat()) {
			const prefix = hashPrefixOfRef(ref);
			for (let at = 0; at < ref.length; at += 1) {
				const others = Array.from(symbols, (symbol) => ref.slice(0, at) + symbol + ref.slice(at + 1));
				others.push(ref.slice(0, at) + (ref[at + 1] ?? "") + ref[at] + ref.slice(at + 2));
				for (const other of others) {
					if (other === ref) continue;
					const found = hashPrefixOfRef(other);
					// 20 characters have a check.
					if (found === prefix || (ref.length === 20 && found !== undefined)) wrong.push(other);
				}
			}
		}
		expect(wrong).toEqual([]);
		expect(hashPrefixOfRef("yyy999yy")).toBeUndefined();
	});

	it("cut short never names the same text, in any form", () => {
		const wrong: string[] = [];
		for (const ref of forms.slice(0, 100).flat()) {
			const prefix = hashPrefixOfRef(ref);
			for (let length = 0; length < ref.length; length += 1) {
				for (const part of [ref.slice(0, length), ref.slice(ref.length - length)]) {
					if (hashPrefixOfRef(part) === prefix) wrong.push(part);
				}
			}
		}
		expect(wrong).toEqual([]);
	});

	it("is read in any usual formatting", () => {
		for (const ref of forms[0] ?? []) {
			for (const written of [ref.toUpperCase(), ` ${ref}\n`, `"${ref}"`, `[${ref}]`, ref.replace(/(.{5})/g, "$1-")]) {
				expect(tidyRef(written)).toBe(ref);
			}
		}
		expect(tidyRef("x".repeat(1_000_000)).length).toBeLessThan(100);
	});
});

describe("the nearest refs", () => {
	const nearest = (wanted: string) => {
		const near = nearRefs(wanted);
		for (const ref of forms.flat()) near.consider(ref);
		return near.nearest();
	};

	it("of a ref with a wrong character begin with the right one, in every form", () => {
		for (const ref of forms.slice(0, 15).flat()) {
			expect(nearest(`${ref.slice(0, 3)}x${ref.slice(4)}`)[0]).toBe(ref);
		}
	});

	it("of a ref with three wrong characters contain only the right one", () => {
		for (const [ref = "", , older = ""] of forms.slice(0, 15)) {
			expect(nearest(`x1${ref.slice(2, 8)}8${ref.slice(9)}`)).toEqual([ref]);
			expect(nearest(`${older.slice(0, 3)}xy${older.slice(5, 10)}${older.slice(11)}`)).toEqual([older]);
		}
	});

	it("of a ref truncated at either end come first", () => {
		for (const ref of forms.slice(0, 15).flat()) {
			const length = Math.min(9, ref.length - 1);
			expect(nearest(ref.slice(0, length))[0]).toBe(ref);
			expect(nearest(ref.slice(-length))[0]).toBe(ref);
		}
	});

	it("of any other text are none", () => {
		expect(nearest("")).toEqual([]);
		expect(nearest("call_abc123")).toEqual([]);
		expect(nearest("ba00")).toEqual([]);
	});
});

it("a reference with one wrong, missing, added or exchanged character leads to its hash, and so does its beginning", () => {
	let checked = 0;
	for (let number = 0; number < 40; number += 1) {
		const hash = createHash("sha256").update(`${number}`).digest("hex");
		const [ref = "", , longer = ""] = formsOfRef(refOfHash(hash));
		const exchanged = `${ref.slice(0, 4)}${ref[5]}${ref[4]}${ref.slice(6)}`;
		const added = [`${ref}0`, `a${ref}`, `${ref.slice(0, 6)}q${ref.slice(6)}`];
		const left = [ref.slice(1), ref.slice(0, -1), `${longer.slice(0, 9)}${longer.slice(10)}`];
		for (const wrong of [`8${ref.slice(1)}`, `${ref.slice(0, -1)}8`, exchanged, ...added, ...left, ref.slice(0, 5)]) {
			expect(
				prefixesNear(wrong).some((prefix) => hash.startsWith(prefix)),
				`${wrong} for ${ref}`,
			).toBe(true);
			checked += 1;
		}
		for (const far of [ref.slice(0, 3), "nonsense", "", "x".repeat(80)]) {
			expect(prefixesNear(far).some((prefix) => hash.startsWith(prefix))).toBe(false);
		}
	}
	expect(checked).toBe(400);
});
