import { fc, test } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { copyJson, equalsCopy, ownJson, uncopiedJson } from "../../src/engine/json-copy.ts";

const deep = (levels: number): unknown => (levels === 0 ? "x" : [deep(levels - 1)]);

describe("copyJson", () => {
	test.prop([fc.jsonValue()])("copies a value that is equal and shares nothing but texts", (value) => {
		const copied = copyJson(value)?.value;
		// Such a key makes it leave the value alone; see below.
		if (JSON.stringify(value).includes('"__proto__"')) return;
		expect(copied).toEqual(value);
		if (typeof value === "object" && value !== null) expect(copied).not.toBe(value);
	});

	it("counts the texts that it holds", () => {
		const chars = copyJson({ content: "x".repeat(1_000) })?.chars ?? 0;
		expect(chars).toBeGreaterThan(1_000);
		expect(chars).toBeLessThan(1_200);
	});

	it.each<[string, unknown]>([
		["an instance of a class", { at: new Date(0) }],
		["a function", { toJSON: () => "x" }],
		["a bigint", [1n]],
		["a symbol", [Symbol("x")]],
		["a key that would set the prototype", JSON.parse('{"__proto__": {"a": 1}}')],
		["too many levels", deep(100)],
	])("leaves %s alone", (_, value) => {
		expect(copyJson(value)).toBeUndefined();
		expect(uncopiedJson(value)).toBeUndefined();
	});
});

describe("uncopiedJson", () => {
	test.prop([fc.jsonValue()])("is the value itself, taken for as large as its copy", (value) => {
		const copy = copyJson(value);
		const uncopied = uncopiedJson(value);
		expect(uncopied?.chars).toBe(copy?.chars);
		if (uncopied) expect(uncopied.value).toBe(value);
	});
});

describe("equalsCopy", () => {
	test.prop([fc.jsonValue({ maxDepth: 4 }), fc.jsonValue({ maxDepth: 4 })])("is equality of JSON texts", (a, b) => {
		if (JSON.stringify(a).includes('"__proto__"')) return;
		const copy = copyJson(a)?.value;
		expect(equalsCopy(copy, a)).toBe(true);
		// A negative zero is written as 0.
		if (JSON.stringify(a) !== JSON.stringify(b)) expect(equalsCopy(copy, b)).toBe(false);
	});

	it.each<[string, unknown, unknown]>([
		["another order of keys", { a: 1, b: 2 }, { b: 2, a: 1 }],
		["a key more", { a: 1 }, { a: 1, b: 2 }],
		["a key less", { a: 1, b: undefined }, { a: 1 }],
		["an item more", [1], [1, 2]],
		["a list in place of an object", { 0: "a" }, ["a"]],
		["an object in place of a list", ["a"], { 0: "a", length: 1 }],
		["null in place of an object", {}, null],
		["a number in place of its text", ["1"], [1]],
		["an instance of a class", {}, new Date(0)],
		["an inherited key", { a: 1 }, Object.create({ a: 1 })],
	])("sees %s", (_, one, other) => {
		expect(equalsCopy(copyJson(one)?.value, other)).toBe(false);
	});
});

describe("ownJson", () => {
	it("gives a copy of what can be copied, and the value itself otherwise", () => {
		const part = [{ type: "text", text: "x" }];
		expect(ownJson(part)).toEqual(part);
		expect(ownJson(part)).not.toBe(part);
		expect(ownJson("x")).toBe("x");
		const date = new Date(0);
		expect(ownJson(date)).toBe(date);
	});
});
