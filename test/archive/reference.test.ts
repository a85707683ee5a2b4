import { createHash } from "node:crypto";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { hashPrefixOfRef, nearRefs, refLength, refOfHash, refPattern, tidyRef } from "../../src/archive/reference.ts";
import type { CountTokens } from "../../src/conversation/measure.ts";
import { loadCounter } from "../../src/tokens/counter.ts";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const refs = Array.from({ length: 5000 }, (_, index) => refOfHash(sha256(`original ${index}`)));
const symbols = "0123456789abcdefghijklmnopqrstuvwxyz";

describe("a ref", () => {
	let counters: readonly CountTokens[] = [];
	beforeAll(async () => {
		counters = await Promise.all([loadCounter("o200k_base"), loadCounter("cl100k_base")]);
	});

	it("is always the same for the same hash", () => {
		expect(refOfHash(sha256(""))).toBe("ve798re306ji825wo179");
		expect(refOfHash("0".repeat(64))).toBe("ba000ba000ba000ba000");
	});

	it("has its form and takes 8 tokens, 10 within a placeholder", () => {
		for (const ref of refs) {
			expect(ref).toMatch(new RegExp(`^${refPattern}$`));
			expect(ref).toHaveLength(refLength);
			for (const count of counters) {
				expect(count(ref)).toBe(8);
				const [without, within] = [count("12 chars, ref=)]"), count(`12 chars, ref=${ref})]`)];
				expect(within - without).toBeLessThanOrEqual(10);
			}
		}
		expect(new Set(refs).size).toBe(refs.length);
	});

	it("decodes to the first 60 bits of the hash", () => {
		fc.assert(
			fc.property(fc.stringMatching(/^[0-9a-f]{64}$/), (hash) => {
				expect(hashPrefixOfRef(refOfHash(hash))).toBe(hash.slice(0, 15));
			}),
			{ numRuns: 2000 },
		);
		expect(hashPrefixOfRef(refOfHash("f".repeat(64)))).toBe("f".repeat(15));
	});

	it("detects any one wrong character and two swapped neighbours", () => {
		let altered = 0;
		for (const ref of refs.slice(0, 200)) {
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

	it("detects that it is truncated", () => {
		for (const ref of refs.slice(0, 100)) {
			for (let length = 0; length < refLength; length += 1) {
				expect(hashPrefixOfRef(ref.slice(0, length))).toBeUndefined();
				expect(hashPrefixOfRef(ref.slice(refLength - length))).toBeUndefined();
			}
		}
	});

	it("is read in any usual formatting", () => {
		const ref = refs[0] as string;
		for (const written of [ref.toUpperCase(), ` ${ref}\n`, `"${ref}"`, `[${ref}]`, ref.replace(/(.{5})/g, "$1-")]) {
			expect(tidyRef(written)).toBe(ref);
		}
		expect(tidyRef("x".repeat(1_000_000)).length).toBeLessThan(100);
	});
});

describe("the nearest refs", () => {
	const nearest = (wanted: string) => {
		const near = nearRefs(wanted);
		for (const ref of refs) near.consider(ref);
		return near.nearest();
	};

	it("of a ref with three wrong characters contain only the right one", () => {
		for (const ref of refs.slice(0, 50)) {
			expect(nearest(`${ref.slice(0, 3)}xy${ref.slice(5, 10)}${ref.slice(11)}`)).toEqual([ref]);
		}
	});

	it("of a ref truncated at either end come first", () => {
		for (const ref of refs.slice(0, 50)) {
			expect(nearest(ref.slice(0, 9))[0]).toBe(ref);
			expect(nearest(ref.slice(-9))[0]).toBe(ref);
		}
	});

	it("of any other text are none", () => {
		expect(nearest("")).toEqual([]);
		expect(nearest("call_abc123")).toEqual([]);
		expect(nearest("ba00")).toEqual([]);
	});
});
