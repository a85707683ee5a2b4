import { fc, test } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { compactJson, isPlainJson, NotJsonError, parseJsonObject } from "../../../src/engine/conversation/json.ts";

/** So deep that `JSON.stringify` has no stack for it. */
const levels = 50_000;

function below(innermost: unknown): { value: unknown; outermost: Record<string, unknown> } {
	let value = innermost;
	for (let level = 0; level < levels; level += 1) value = { a: value };
	return { value, outermost: value as Record<string, unknown> };
}

describe("compactJson", () => {
	test.prop([fc.jsonValue()])("writes the same as JSON.stringify", (value) => {
		expect(compactJson(value)).toBe(JSON.stringify(value));
	});

	test.prop([fc.jsonValue()], { numRuns: 4 })("does so at any depth, also with repeated values", (value) => {
		const written = compactJson(below([value, value]).value);
		const json = JSON.stringify(value);
		expect(written === `${'{"a":'.repeat(levels)}[${json},${json}]${"}".repeat(levels)}`).toBe(true);
	});

	it.each<[unknown]>([
		[undefined],
		[null],
		["a"],
		[-0],
		[{ a: undefined, b: [undefined, () => 1, Number.NaN] }],
		[{ a: () => 1, b: Symbol("b"), c: 1 }],
	])("of %j writes the same as JSON.stringify at any depth", (value) => {
		expect(compactJson(value)).toBe(JSON.stringify(value) ?? "");
		let deep: unknown = [value, value];
		for (let level = 0; level < levels; level += 1) deep = [deep];
		expect(compactJson(deep)).toBe(`${"[".repeat(levels)}${JSON.stringify([value, value])}${"]".repeat(levels)}`);
	});

	const itself: Record<string, unknown> = {};
	itself.itself = itself;
	const deepInside: unknown[] = [];
	deepInside.push(below(deepInside).outermost);
	it.each<[string, unknown]>([
		["a value that contains itself", itself],
		["one that does so at depth", deepInside],
		["a bigint", [1n]],
		["one at depth", below(1n).value],
	])("refuses %s", (_, value) => {
		expect(() => compactJson(value)).toThrow(NotJsonError);
	});
});

describe("isPlainJson", () => {
	const circle: unknown[] = [null];
	circle.push({ circle });

	it.each<[string, unknown]>([
		["values of every type", { a: [1, "b", null, true], c: { d: undefined } }],
		["an object without a prototype", Object.assign(Object.create(null), { a: 1 })],
		["a circle", circle],
	])("accepts %s", (_, value) => {
		expect(isPlainJson(value)).toBe(true);
	});

	it.each<[string, unknown]>([
		["a date before an absent member", { a: new Date(0), b: undefined }],
		["a function", [() => 1]],
		["a bigint", { a: 1n }],
		["a hole", new Array(2)],
		[
			"an accessor",
			{
				get a() {
					return 1;
				},
			},
		],
	])("refuses %s", (_, value) => {
		expect(isPlainJson(value)).toBe(false);
	});
});

describe("parseJsonObject", () => {
	it("reads objects alone", () => {
		expect(parseJsonObject(' {"a": 1}')).toEqual({ a: 1 });
		expect(parseJsonObject("[1]")).toBeUndefined();
		expect(parseJsonObject('{"a"')).toBeUndefined();
	});
});
