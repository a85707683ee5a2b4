import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Path } from "../../../src/engine/conversation/paths.ts";
import { hasMoreValues, locateValues, nodeAt, pathTree } from "../../../src/formats/json-text/locate.ts";

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

	it("finds the place after a deep path without a stack", () => {
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

	it.each<[string, Path, string | undefined]>([
		[' \t\r\n{ \t\r\n"a"\t:\r\n1\t}', ["a"], "1"],
		['{"a" : 1 , "b" : 2 }', ["b"], "2"],
		['{"a":1,"b":2}', ["a"], "1"],
		['{"a":-1.5e3}', ["a"], "-1.5e3"],
		["[1,2]", [1], "2"],
		["[1\t,2\r]", [1], "2"],
		["[1]", [0], "1"],
		["[ ]", [0], undefined],
		["{ }", ["a"], undefined],
		["[[],{},[[1]],2]", [3], "2"],
		["[[],{},[[1]],2]", [2], "[[1]]"],
		["[[],{},[[1]],2]", [2, 0, 0], "1"],
		["[[],{},[[1]],2]", [0], "[]"],
		['{"a":{"b":[1,{"c":true}],"d":null}}', ["a", "b", 1, "c"], "true"],
		['{"a":{"b":[1,{"c":true}],"d":null}}', ["a", "d"], "null"],
		['["]","}","[{",1]', [3], "1"],
		['[["]","\\"]"],"}",1]', [2], "1"],
		['{"a]":"}","b":2}', ["b"], "2"],
		['"text"', [], '"text"'],
		["12 ", [], "12"],
		["12,", [], "12"],
		["true]", [], "true"],
		["[1] ", [], "[1]"],
		['["a"]', ["0"], undefined],
		['{"0":1}', [0], undefined],
		['{"0":1}', ["0"], "1"],
		['{"":1}', [""], "1"],
		['{"\\n":1}', ["\n"], "1"],
	])("in %j, at %j, is %s", (text, path, expected) => {
		expect(textAt(text, path)).toBe(expected);
	});

	it("begins at the given place, and ends after the value", () => {
		const tree = pathTree([["a"]]);
		expect(locateValues('xx {"a":1} {"a":2}', 2, tree)).toEqual({ start: 3, end: 10 });
		expect(nodeAt(tree, ["a"])).toMatchObject({ span: { start: 8, end: 9 } });
		expect(locateValues('{"a":1}  [2] ', 7, pathTree([]))).toEqual({ start: 9, end: 12 });
	});

	it("forgets all that it found in the earlier value of a repeated key", () => {
		const tree = pathTree([["a", 0, "b"], ["a", 1], ["c"]]);
		locateValues('{"a":[{"b":1},2],"c":[3],"a":[4,5,6]}', 0, tree);
		expect(nodeAt(tree, ["a", 0, "b"])?.span).toBeUndefined();
		expect(nodeAt(tree, ["a"])?.items?.length).toBe(3);
		expect(nodeAt(tree, ["a", 1])?.span).toEqual({ start: 32, end: 33 });
		expect(nodeAt(tree, ["c"])?.items).toBeUndefined();
		const other = pathTree([["a", 0, "b"]]);
		locateValues('{"a":[{"b":1},2],"a":{"b":1}}', 0, other);
		expect(nodeAt(other, ["a"])?.items).toBeUndefined();
		expect(nodeAt(other, ["a", 0])?.span).toBeUndefined();
		expect(nodeAt(other, ["x", 0])).toBeUndefined();
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

describe("hasMoreValues", () => {
	const lists = (count: number) => "[".repeat(count) + "]".repeat(count);
	const objects = (count: number) => `${'{"a":'.repeat(count)}1${"}".repeat(count)}`;
	const escaped = '\\"'.repeat(500);

	it.each([
		["101 commas", `[${"0,".repeat(101)}0]`, true],
		["100 commas", `[${"0,".repeat(100)}0]`, false],
		["101 nested lists", lists(101), true],
		["100 nested lists", lists(100), false],
		["101 nested objects", objects(101), true],
		["commas and brackets in a string", `{"text":"${"[{,".repeat(200)}"}`, false],
		["commas after escaped quotes in a string", `{"text":"${escaped}${",".repeat(200)}"}`, false],
		["commas after a string of escaped quotes", `{"text":"${escaped}","list":[${"0,".repeat(101)}0]}`, true],
		["escaped quotes without end", `{"text":"${escaped}`, false],
		["101 commas and a string without end", `[${"0,".repeat(101)}"`, true],
	])("compares with 100: %s", (_, text, expected) => {
		expect(hasMoreValues(text, 100)).toBe(expected);
	});

	it("counts values outside strings, with escapes in any place", () => {
		const string = fc.string({ unit: fc.constantFrom("\\", '"', "a", "bbbb".repeat(80), ","), maxLength: 40 });
		fc.assert(
			fc.property(fc.array(string, { maxLength: 20 }), fc.boolean(), (texts, isMany) => {
				const text = `[${JSON.stringify(texts)},[${"0,".repeat(isMany ? 101 : 79)}0]]`;
				expect(hasMoreValues(text, 100)).toBe(isMany);
			}),
			{ numRuns: 200 },
		);
	});
});
