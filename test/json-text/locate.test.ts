import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Path } from "../../src/conversation/transcript.ts";
import { locateValues, nodeAt, pathTree } from "../../src/json-text/locate.ts";

const textAt = (text: string, path: Path) => {
	const tree = pathTree([path]);
	locateValues(text, 0, tree);
	const span = nodeAt(tree, path)?.span;
	return span && text.slice(span.start, span.end);
};

describe("locateValues", () => {
	it("finds every value of any JSON, however it is indented", () => {
		let values = 0;
		fc.assert(
			fc.property(fc.jsonValue({ maxDepth: 5 }), fc.constantFrom(undefined, 1, "\t"), (value, indent) => {
				const text = ` ${JSON.stringify(value, undefined, indent)}\n`;
				const paths = pathsIn(value);
				const tree = pathTree(paths.map(({ path }) => path));
				const whole = locateValues(text, 0, tree);
				expect(text.slice(whole.start, whole.end)).toBe(text.trim());
				for (const { path, value: expected } of paths) {
					const { start = 0, end = 0 } = nodeAt(tree, path)?.span ?? {};
					expect(JSON.parse(text.slice(start, end))).toEqual(JSON.parse(JSON.stringify(expected)));
					values += 1;
				}
			}),
			{ numRuns: 400 },
		);
		expect(values).toBeGreaterThan(1_000);
	});

	it("passes over long strings with quotes and backslashes at any place", () => {
		for (let length = 0; length < 80; length += 1) {
			for (const end of ['"', "\\", '\\"', '"\\', '\\\\"', "é", "\n"]) {
				const value = { before: "x".repeat(length) + end + "y".repeat(length) + end, after: 1 };
				expect(textAt(JSON.stringify(value), ["after"])).toBe("1");
			}
		}
	});

	it("takes the last value of a repeated key, as JSON.parse does", () => {
		expect(textAt('{"a":{"b":1},"a":{"b":2}}', ["a", "b"])).toBe("2");
		expect(textAt('{"a":{"b":1},"a":5}', ["a", "b"])).toBeUndefined();
		expect(textAt('{"a":[1,2],"a":[3]}', ["a", 1])).toBeUndefined();
	});

	it("reads keys with escapes", () => {
		expect(textAt('{"\\u0061\\"":[true, null]}', ['a"', 1])).toBe("null");
	});

	it("needs no stack for a deep text", () => {
		const deep = "[".repeat(200_000) + "]".repeat(200_000);
		expect(textAt(`{"deep":${deep},"after":"here"}`, ["after"])).toBe('"here"');
	});

	it("finds the place behind a deep path without a stack", () => {
		const depth = 20_000;
		const path = new Array<number>(depth).fill(0);
		expect(textAt(`${"[".repeat(depth)}7${"]".repeat(depth)}`, path)).toBe("7");
	});

	it("lists the items of a list that has a place in it", () => {
		const text = '{"list":[1, "two", [3]]}';
		const tree = pathTree([["list", 3]]);
		locateValues(text, 0, tree);
		const items = nodeAt(tree, ["list"])?.items ?? [];
		expect(items.map(({ start, end }) => text.slice(start, end))).toEqual(["1", '"two"', "[3]"]);
	});

	it.each(["", "  ", "}", ",1", '{"a":', '"open', "[1"])("throws for %j, which holds no value", (text) => {
		expect(() => locateValues(text, 0, pathTree([]))).toThrow();
		expect(() => locateValues(text, 0, pathTree([["a"], [0]]))).toThrow();
	});
});

function pathsIn(value: unknown, path: Path = []): { path: Path; value: unknown }[] {
	const below = Array.isArray(value)
		? value.flatMap((item, index) => pathsIn(item, [...path, index]))
		: typeof value === "object" && value !== null
			? Object.entries(value).flatMap(([key, item]) => pathsIn(item, [...path, key]))
			: [];
	return [{ path, value }, ...below];
}
