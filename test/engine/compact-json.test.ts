import { fc, test } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { compactJson } from "../../src/engine/compact-json.ts";
import { NotJsonError } from "../../src/engine/stringify.ts";

/** So deep that `JSON.stringify` has no stack for it. */
const levels = 50_000;

function below(innermost: unknown): { value: unknown; outermost: Record<string, unknown> } {
	let value = innermost;
	for (let level = 0; level < levels; level += 1) value = { a: value };
	return { value, outermost: value as Record<string, unknown> };
}

describe("compactJson", () => {
	test.prop([fc.jsonValue()])("is what JSON.stringify writes", (value) => {
		expect(compactJson(value)).toBe(JSON.stringify(value));
	});

	test.prop([fc.jsonValue()], { numRuns: 10 })("is so at any depth, also of what stands there twice", (value) => {
		const written = compactJson(below([value, value]).value);
		const json = JSON.stringify(value);
		expect(written === `${'{"a":'.repeat(levels)}[${json},${json}]${"}".repeat(levels)}`).toBe(true);
	});

	const itself: Record<string, unknown> = {};
	itself.itself = itself;
	const deepInside: unknown[] = [];
	deepInside.push(below(deepInside).outermost);
	it.each<[string, unknown]>([
		["a value that holds itself", itself],
		["one that does so far below", deepInside],
		["a bigint", [1n]],
		["one far below", below(1n).value],
	])("refuses %s", (_, value) => {
		expect(() => compactJson(value)).toThrow(NotJsonError);
	});
});
