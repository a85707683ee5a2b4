import { expect, it } from "vitest";
import { sha256Of, unsafeIntegers } from "../../src/json-text/value.ts";

it("integers that the text may spell in another way are found at any place", () => {
	expect(unsafeIntegers(2 ** 53)).toEqual([""]);
	expect(unsafeIntegers({ a: [1, { b: -(2 ** 60) }], c: 2 ** 53 - 1, d: 0.5, e: "9007199254740993" })).toEqual([
		"/a/1/b",
	]);
	expect(unsafeIntegers([[2 ** 53], { x: null }, [[2 ** 53]]])).toEqual(["/0/0", "/2/0/0"]);
	expect(unsafeIntegers(Array.from({ length: 12 }, () => 2 ** 53))).toHaveLength(10);
	expect(unsafeIntegers(null)).toEqual([]);
});

it("a string's hash is that of its UTF-8, any other value's that of its JSON", () => {
	expect(sha256Of("é")).toBe("4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c");
	expect(sha256Of({ a: [1] })).toBe(sha256Of('{"a":[1]}'));
});

it("at most ten places are named, in order, as pointers", () => {
	const unsafe = 2 ** 53;
	expect(unsafeIntegers(Array.from({ length: 12 }, () => unsafe))).toEqual(
		Array.from({ length: 10 }, (_, at) => `/${at}`),
	);
	expect(unsafeIntegers({ a: { "b/c": [unsafe, { "~": unsafe }] }, d: unsafe })).toEqual([
		"/a/b~1c/0",
		"/a/b~1c/1/~0",
		"/d",
	]);
	expect(unsafeIntegers({ a: unsafe, b: [unsafe], c: unsafe })).toEqual(["/a", "/b/0", "/c"]);
	expect(unsafeIntegers([2 ** 53 - 1, -(2 ** 53), 1e300, Number.POSITIVE_INFINITY, 2 ** 53 + 0.5, "x", true])).toEqual([
		"/1",
		"/2",
		"/4",
	]);
	expect(unsafeIntegers({})).toEqual([]);
	expect(unsafeIntegers("9007199254740993")).toEqual([]);
	expect(unsafeIntegers(undefined)).toEqual([]);
});
