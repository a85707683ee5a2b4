import { createHash } from "node:crypto";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import {
	hashPrefixOfRef,
	longRefOfHash,
	nearRefs,
	refOfHash,
	refPattern,
	tidyRef,
} from "../../src/archive/reference.ts";
import type { CountTokens } from "../../src/conversation/measure.ts";
import { loadCounter } from "../../src/tokens/counter.ts";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const hashes = Array.from({ length: 5000 }, (_, index) => sha256(`original ${index}`));
const refs = hashes.map(refOfHash);
const longRefs = hashes.map(longRefOfHash);
const symbols = "0123456789abcdefghijklmnopqrstuvwxyz";
const anyHash = fc.stringMatching(/^[0-9a-f]{64}$/);

let counters: readonly CountTokens[] = [];
beforeAll(async () => {
	counters = await Promise.all([loadCounter("o200k_base"), loadCounter("cl100k_base")]);
});

describe("a ref", () => {
	it("is always the same for the same hash", () => {
		expect(refOfHash(sha256(""))).toBe("noy195ut");
		expect(refOfHash("0".repeat(64))).toBe("aaa000aa");
		expect(refOfHash("f".repeat(64))).toBe("pia030tl");
	});

	it("has 8 characters and takes 4 tokens on average, at most 6", () => {
		for (const ref of refs) {
			expect(ref).toMatch(new RegExp(`^${refPattern}$`));
			expect(ref).toHaveLength(8);
		}
		for (const count of counters) {
			const without = count("12 chars, ref=)]");
			const sizes = refs.map((ref) => count(`12 chars, ref=${ref})]`) - without);
			expect(Math.max(...sizes)).toBeLessThanOrEqual(6);
			expect(sizes.reduce((sum, size) => sum + size, 0) / sizes.length).toBeLessThan(4);
		}
		expect(new Set(refs).size).toBe(refs.length);
	});

	it("decodes to the first 32 bits of the hash", () => {
		const decodes = (hash: string) => {
			expect(hashPrefixOfRef(refOfHash(hash))).toBe(hash.slice(0, 8));
		};
		fc.assert(fc.property(anyHash, decodes), { numRuns: 2000 });
		decodes("f".repeat(64));
		expect(hashPrefixOfRef("yyy999yy")).toBeUndefined();
	});

	it("with one wrong character or two swapped neighbours is never the same", () => {
		for (const [index, ref] of refs.slice(0, 200).entries()) {
			const prefix = hashes[index]?.slice(0, 8);
			for (let at = 0; at < ref.length; at += 1) {
				const others = Array.from(symbols, (symbol) => ref.slice(0, at) + symbol + ref.slice(at + 1));
				others.push(ref.slice(0, at) + (ref[at + 1] ?? "") + ref[at] + ref.slice(at + 2));
				for (const other of others) if (other !== ref) expect(hashPrefixOfRef(other)).not.toBe(prefix);
			}
		}
	});

	it("is not part of a longer one", () => {
		for (const ref of [...refs.slice(0, 100), ...longRefs.slice(0, 100)]) {
			for (let length = 0; length < ref.length; length += 1) {
				expect(hashPrefixOfRef(ref.slice(0, length))).toBeUndefined();
				expect(hashPrefixOfRef(ref.slice(ref.length - length))).toBeUndefined();
			}
		}
	});

	it("is read in any usual formatting", () => {
		for (const ref of [refs[0] as string, longRefs[0] as string]) {
			for (const written of [ref.toUpperCase(), ` ${ref}\n`, `"${ref}"`, `[${ref}]`, ref.replace(/(.{5})/g, "$1-")]) {
				expect(tidyRef(written)).toBe(ref);
			}
		}
		expect(tidyRef("x".repeat(1_000_000)).length).toBeLessThan(100);
	});
});

describe("a long ref", () => {
	it("is as older versions wrote it", () => {
		expect(longRefOfHash(sha256(""))).toBe("ve798re306ji825wo179");
		expect(longRefOfHash("0".repeat(64))).toBe("ba000ba000ba000ba000");
	});

	it("takes 8 tokens and decodes to the first 60 bits of the hash", () => {
		for (const ref of longRefs.slice(0, 1000)) {
			expect(ref).toMatch(new RegExp(`^${refPattern}$`));
			for (const count of counters) expect(count(ref)).toBe(8);
		}
		const decodes = (hash: string) => {
			expect(hashPrefixOfRef(longRefOfHash(hash))).toBe(hash.slice(0, 15));
		};
		fc.assert(fc.property(anyHash, decodes), { numRuns: 2000 });
		decodes("f".repeat(64));
	});

	it("detects any one wrong character and two swapped neighbours", () => {
		let altered = 0;
		for (const ref of longRefs.slice(0, 200)) {
			for (let at = 0; at < ref.length; at += 1) {
				for (const symbol of symbols) {
					if (symbol === ref[at]) continue;
					altered += 1;
					expect(hashPrefixOfRef(ref.slice(0, at) + symbol + ref.slice(at + 1))).toBeUndefined();
				}
				const swapped = ref.slice(0, at) + (ref[at + 1] ?? "") + ref[at] + ref.slice(at + 2);
				if (swapped === ref) continue;
				altered += 1;
				expect(hashPrefixOfRef(swapped)).toBeUndefined();
			}
		}
		expect(altered).toBeGreaterThan(140_000);
	});
});

describe("the nearest refs", () => {
	const nearest = (wanted: string) => {
		const near = nearRefs(wanted);
		for (const ref of [...refs, ...longRefs]) near.consider(ref);
		return near.nearest();
	};

	it("of a ref with a wrong character begin with the right one", () => {
		for (const ref of refs.slice(0, 50)) expect(nearest(`${ref.slice(0, 3)}x${ref.slice(4)}`)[0]).toBe(ref);
	});

	it("of a long ref with three wrong characters contain only the right one", () => {
		for (const ref of longRefs.slice(0, 50)) {
			expect(nearest(`${ref.slice(0, 3)}xy${ref.slice(5, 10)}${ref.slice(11)}`)).toEqual([ref]);
		}
	});

	it("of a ref truncated at either end come first", () => {
		for (const ref of longRefs.slice(0, 50)) {
			expect(nearest(ref.slice(0, 9))[0]).toBe(ref);
			expect(nearest(ref.slice(-9))[0]).toBe(ref);
		}
		for (const ref of refs.slice(0, 50)) {
			expect(nearest(ref.slice(0, 7))[0]).toBe(ref);
			expect(nearest(ref.slice(-7))[0]).toBe(ref);
		}
	});

	it("of any other text are none", () => {
		expect(nearest("")).toEqual([]);
		expect(nearest("call_abc123")).toEqual([]);
		expect(nearest("ba00")).toEqual([]);
	});
});
