import { expect, it } from "vitest";
import {
	asCountedText,
	booleanAt,
	hasMember,
	idAt,
	listOf,
	memberAt,
	membersOf,
	numberAt,
	objectOf,
	objectsOf,
	sha256Of,
	stringAt,
	timeAt,
	unsafeIntegers,
} from "../../../src/formats/json-text/value.ts";

it("integers that the text may spell in another way are found at any place", () => {
	expect(unsafeIntegers(2 ** 53)).toEqual([""]);
	expect(unsafeIntegers({ a: [1, { b: -(2 ** 60) }], c: 2 ** 53 - 1, d: 0.5, e: "9007199254740993" })).toEqual([
		"/a/1/b",
	]);
	expect(unsafeIntegers([[2 ** 53], { x: null }, [[2 ** 53]]])).toEqual(["/0/0", "/2/0/0"]);
	expect(unsafeIntegers(Array.from({ length: 12 }, () => 2 ** 53))).toHaveLength(10);
	expect(unsafeIntegers(null)).toEqual([]);
});

it("a string is hashed as UTF-8, any other value as JSON", () => {
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

it("members are read if the object itself has them, with the expected type", () => {
	const object = { text: "x", empty: "", no: false, zero: 0, nothing: null, endless: Number.POSITIVE_INFINITY };
	expect(memberAt(object, "other", "nothing", "text")).toBeNull();
	expect(["toString", "text", "empty", "zero"].map((key) => stringAt(object, key))).toEqual([
		undefined,
		"x",
		"",
		undefined,
	]);
	expect(["toString", "text", "empty", "zero"].map((key) => idAt(object, key))).toEqual([
		...[undefined, "x", undefined, undefined],
	]);
	expect(["toString", "no", "zero"].map((key) => booleanAt(object, key))).toEqual([undefined, false, undefined]);
	expect(["toString", "zero", "text", "endless"].map((key) => numberAt(object, key))).toEqual([
		...[undefined, 0, undefined, undefined],
	]);
	expect([memberAt(object, "toString"), hasMember(object, "toString")]).toEqual([undefined, false]);
	expect([hasMember(object, "other", "nothing"), hasMember(object, "other"), hasMember(object)]).toEqual([
		...[true, false, false],
	]);
});

it.each<[unknown, number | undefined]>([
	["2026-01-01T00:00:00.500", Date.UTC(2026, 0, 1) + 500],
	["2026-01-01T00:00:00Z", Date.UTC(2026, 0, 1)],
	["2026-01-01T02:00:00+02:00", Date.UTC(2026, 0, 1)],
	["2026-01-01", Date.UTC(2026, 0, 1)],
	["soon", undefined],
	[1_767_225_600, Date.UTC(2026, 0, 1)],
	[1_767_225_600_000, Date.UTC(2026, 0, 1)],
	[99_999_999_999, 99_999_999_999_000],
	[100_000_000_000, 100_000_000_000],
	[-5, -5],
	[null, undefined],
])("the time %j is %j in ms since 1970", (at, time) => {
	expect(timeAt({ at }, "at")).toBe(time);
});

it("other values are read as empty lists and objects", () => {
	const [list, object] = [[{ a: 1 }, [2], null, "x"], { a: 1 }];
	expect([listOf(list), listOf(object)]).toEqual([list, []]);
	expect([list, null, "x", object].map(objectOf)).toEqual([{}, {}, {}, object]);
	expect([objectsOf(list), objectsOf(object)]).toEqual([[object], []]);
	expect([["x"], object, null, "x"].map(membersOf)).toEqual([[[0, "x"]], [["a", 1]], [], []]);
	expect(["x", object, undefined].map(asCountedText)).toEqual(["x", '{"a":1}', ""]);
});
