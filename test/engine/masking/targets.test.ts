import { describe, expect, it } from "vitest";
import { normalisePath, textKey } from "../../../src/engine/masking/targets.ts";

describe("normalisePath", () => {
	it.each([
		["a.ts", "a.ts"],
		["./a.ts", "a.ts"],
		["src//x/../a.ts/", "src/a.ts"],
		["../a.ts", "../a.ts"],
		["../../a.ts", "../../a.ts"],
		["/a/./b", "/a/b"],
		["/", "/"],
		[".", "."],
		["a/..", "."],
		["C:\\p\\a.ts", "C:/p/a.ts"],
		["file:///p/a.ts", "/p/a.ts"],
		["~/a.ts", "~/a.ts"],
		["a b.ts", "a b.ts"],
	])("%s is %s", (path, normalised) => {
		expect(normalisePath(path)).toBe(normalised);
		expect(normalisePath(normalised)).toBe(normalised);
	});

	it.each(["", "*.ts", "$HOME/a", "https://a.b/c", "/dev/null", "a\nb", "a".repeat(1_001), "`ls`", "a|b"])(
		"%j is not a path of a file",
		(path) => {
			expect(normalisePath(path)).toBeUndefined();
		},
	);
});

/** The hash cyrb53 of https://github.com/bryc/code/blob/master/jshash/experimental/cyrb53.js, in whole numbers. */
function cyrb53(text: string): bigint {
	const product = (a: bigint, b: bigint) => BigInt.asUintN(32, a * b);
	let [first, second] = [0xdeadbeefn, 0x41c6ce57n];
	for (const code of Array.from({ length: text.length }, (_, index) => BigInt(text.charCodeAt(index)))) {
		first = product(first ^ code, 2_654_435_761n);
		second = product(second ^ code, 1_597_334_677n);
	}
	first = product(first ^ (first >> 16n), 2_246_822_507n) ^ product(second ^ (second >> 13n), 3_266_489_909n);
	second = product(second ^ (second >> 16n), 2_246_822_507n) ^ product(first ^ (first >> 13n), 3_266_489_909n);
	return ((second & 0x1fffffn) << 32n) + first;
}

describe("textKey", () => {
	it("is a text itself of up to 16,383 characters", () => {
		expect(["", "a", "b".repeat(16_383)].map(textKey)).toEqual(["", "a", "b".repeat(16_383)]);
	});

	it("is the length and a hash of a longer one", () => {
		for (const end of ["", "a", "b", "é→", "\u{1f600} and more"]) {
			const text = `${"0123456789abcdef".repeat(1_024)}${end}`;
			expect(textKey(text)).toBe(`${text.length}:${cyrb53(text)}`);
		}
	});
});
