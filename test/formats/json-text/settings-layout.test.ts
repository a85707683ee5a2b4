import { describe, expect, it } from "vitest";
import {
	appendItem,
	enterJson,
	entryInJson,
	readSettings,
	removeFromJson,
	withoutValue,
	withValue,
} from "../../../src/formats/json-text/settings.ts";

const refusal = (reason: string) =>
	expect.objectContaining({
		code: "invalid_json",
		message: `The settings file cannot be changed: ${reason}. It was left unchanged.`,
	});

describe("a key that is entered", () => {
	it.each<[string, string, string[], unknown, string]>([
		["into an empty file", " \n", ["a"], 1, '{\n  "a": 1\n}\n'],
		["into an empty object", "{}\n", ["a"], 1, '{\n  "a": 1\n}\n'],
		["into an object with a blank in it", "{ }", ["a"], 1, '{\n  "a": 1\n }'],
		["into an empty object over two lines", "{\n}\n", ["a"], 1, '{\n  "a": 1\n}\n'],
		["into one whose first line ends with blanks", "{ \t\r\n}", ["a"], 1, '{\r\n  "a": 1 \t\r\n}'],
		[
			"with an object for it",
			"{}",
			["a", "b", "c"],
			[1],
			'{\n  "a": {\n    "b": {\n      "c": [\n        1\n      ]\n    }\n  }\n}',
		],
		["in front of others", '{\n  "x": 1\n}', ["a"], 1, '{\n  "a": 1,\n  "x": 1\n}'],
		["in the indent of four blanks", '{\n    "x": 1\n}', ["a"], [1], '{\n    "a": [\n        1\n    ],\n    "x": 1\n}'],
		["in the indent of tabs", '{\n\t\t"x": 1\n}', ["a"], [1], '{\n\t"a": [\n\t\t1\n\t],\n\t\t"x": 1\n}'],
		["in one line of others", '{ "x": 1 }', ["a"], { b: [1] }, '{ "a": {"b":[1]}, "x": 1 }'],
		[
			"in an inner object",
			'{\n  "x": {\n    "y": 1\n  }\n}',
			["x", "a"],
			1,
			'{\n  "x": {\n    "a": 1,\n    "y": 1\n  }\n}',
		],
		["in an inner empty object", '{\n  "x": {}\n}', ["x", "a"], 1, '{\n  "x": {\n    "a": 1\n  }\n}'],
		["after a comment", '{ // mine\n  "x": 1\n}', ["a"], 1, '{\n  "a": 1, // mine\n  "x": 1\n}'],
		[
			"in place of another",
			'{\n  "x": {"y": 1}, "z": 2\n}',
			["x", "y"],
			[3],
			'{\n  "x": {"y": [\n      3\n    ]}, "z": 2\n}',
		],
		["in place of null", '{"x": null}', ["x"], 1, '{"x": 1}'],
		["over a comma too many", '{\n  "x": 1,\n}', ["a"], 1, '{\n  "a": 1,\n  "x": 1,\n}'],
	])("%s", (_, text, key, value, expected) => {
		const entered = enterJson(text, key, value);
		expect(entered).toBe(expected);
		expect(entryInJson(entered, key)).toEqual(value);
		expect(enterJson(entered, key, value)).toBe(entered);
	});

	it("may have fields without a value", () => {
		expect(enterJson("{}", ["a"], { b: undefined, c: 1 })).toBe('{\n  "a": {\n    "c": 1\n  }\n}');
	});

	it.each<[string, string[], string]>([
		['{"a": [1]}', ["a", "b"], "`a` is not an object"],
		['{"a": {"b": null}}', ["a", "b", "c"], "`a.b` is not an object"],
		["[]", ["a"], "it does not hold an object"],
		["null", ["a"], "it does not hold an object"],
		['{"a": 1', ["b"], "it is not valid JSON (line 1, column 8)"],
		['{"a": {"b": 1}, "a": {"c": 1}}', ["a", "c"], "a key on the path to `a.c` appears twice"],
		['{"a": 1, "a": 2}', ["a"], "`a` cannot be changed on its own where it is"],
	])("is refused in %s at %j", (text, key, reason) => {
		expect(() => enterJson(text, key, 5)).toThrow(refusal(reason));
	});
});

describe("a value in settings", () => {
	it("is found at its key", () => {
		expect(entryInJson("", [])).toEqual({});
		expect(entryInJson('{"a": null}', ["a"])).toBeNull();
		expect(entryInJson('{"a": {"b": {"c": 0}}}', ["a", "b", "c"])).toBe(0);
		expect(entryInJson('{"a": {}}', ["a", "toString"])).toBeUndefined();
		expect(entryInJson("{}", ["a", "b"])).toBeUndefined();
		expect(() => entryInJson('{"a": "b"}', ["a", "length"])).toThrow(refusal("`a` is not an object"));
		expect(readSettings('// mine\n{"a": 1, /* two */ "b": [1,],}')).toEqual({ a: 1, b: [1] });
		expect(() => readSettings('{"a": 1} x')).toThrow(refusal("it is not valid JSON (line 1, column 10)"));
	});
});

describe("an item that is appended", () => {
	it.each<[string, string, string[], unknown, string]>([
		["to an empty list", '{\n  "l": []\n}', ["l"], 1, '{\n  "l": [\n    1\n  ]\n}'],
		[
			"with tabs",
			'{\n\t"l": [\n\t\t1\n\t]\n}',
			["l"],
			{ a: 2 },
			'{\n\t"l": [\n\t\t1,\n\t\t{\n\t\t\t"a": 2\n\t\t}\n\t]\n}',
		],
		[
			"with four blanks",
			'{\n    "l": [\n        1\n    ]\n}',
			["l"],
			[2],
			'{\n    "l": [\n        1,\n        [\n            2\n        ]\n    ]\n}',
		],
		["with CRLF", '{\r\n  "l": [\r\n    1\r\n  ]\r\n}', ["l"], 2, '{\r\n  "l": [\r\n    1,\r\n    2\r\n  ]\r\n}'],
		["to a list that is missing", '{\n  "x": {}\n}', ["x", "l"], 1, '{\n  "x": {\n    "l": [\n      1\n    ]\n  }\n}'],
	])("%s", (_, text, list, value, expected) => {
		const after = appendItem(text, list, value);
		expect([after, readSettings(after)]).toEqual([expected, readSettings(expected)]);
	});

	it("is refused where the list is none, or is there twice", () => {
		const reason = (name: string) => refusal(`\`${name}\` is not a list, or appears twice`);
		expect(() => appendItem('{"x": {"l": null}}', ["x", "l"], 1)).toThrow(reason("x.l"));
		expect(() => appendItem('{"l": {}, "l": []}', ["l"], 1)).toThrow(reason("l"));
		expect(() => appendItem('{"l": [1], "l": [2]}', ["l"], 1)).toThrow(/cannot be changed/);
	});
});

describe("a value that is taken out", () => {
	it.each<[string, (string | number)[], string]>([
		['{"a": 1}', ["a"], "{}"],
		['{ "a": 1 }', ["a"], "{ }"],
		['{"a": 1 , "b": 2}', ["a"], '{ "b": 2}'],
		['{"a": 1 , "b": 2}', ["b"], '{"a": 1 }'],
		['{"a": 1, "b": 2, "c": 3}', ["b"], '{"a": 1, "c": 3}'],
		['{\n  "a": 1,\n  "b": 2\n}\n', ["a"], '{\n  "b": 2\n}\n'],
		['{\n  "a": 1,\n  "b": 2\n}\n', ["b"], '{\n  "a": 1\n}\n'],
		['{\n  "a": 1,\n  "b": 2,\n}\n', ["b"], '{\n  "a": 1,\n}\n'],
		['{\n  "a": 1, "b": 2,\n  "c": 3\n}', ["a"], '{\n  "b": 2,\n  "c": 3\n}'],
		['{\n  "a": 1, // one\n  "b": 2\n}', ["a"], '{ // one\n  "b": 2\n}'],
		['{\n  "a": 1, /* b */ "b": 2\n}', ["a"], '{\n  /* b */ "b": 2\n}'],
		['{\n  // one\n  "a": 1,\n  "b": 2\n}', ["a"], '{\n  // one\n  "b": 2\n}'],
		['{\n  "a": 1, // one\n  "b": 2\n}', ["b"], '{\n  "a": 1 // one\n}'],
		['{"a": [1, 2], "b": 3}', ["a", 0], '{"a": [ 2], "b": 3}'],
		['{"a": [1, 2], "b": 3}', ["a", 1], '{"a": [1], "b": 3}'],
		['{"a": {"x": 1}, "b": 3}', ["a", "x"], '{"a": {}, "b": 3}'],
		["[1]", [0], "[]"],
		["[1,]", [0], "[]"],
		["[[1], 2]", [0], "[ 2]"],
	])("of %j at %j", (text, path, left) => {
		expect(withoutValue(text, path)).toBe(left);
	});

	it.each<[string, string[], string]>([
		['{"a": {"b": 1}, "c": 2}', ["a", "b"], '{ "c": 2}'],
		['{"a": {"b": {"c": 1}}}', ["a", "b", "c"], "{}"],
		['{"a": {"b": {"c": 1}, "d": []}}', ["a", "b", "c"], '{"a": { "d": []}}'],
		['{"a": {"b": 1, "c": {}}}', ["a", "b"], '{"a": { "c": {}}}'],
		['{"a": [1], "b": 2}', ["a"], '{ "b": 2}'],
		['{"a": { /* mine */ "b": {"c": 1}}}', ["a", "b", "c"], '{"a": { /* mine */}}'],
		['{"a": 1}', ["b"], '{"a": 1}'],
		["", ["a"], ""],
	])("with its key, of %j at %j", (text, key, left) => {
		expect(removeFromJson(text, key)).toBe(left);
	});

	it("is refused where it is there twice", () => {
		expect(() => removeFromJson('{"a": 1, "a": 2}', ["a"])).toThrow(
			refusal("`a` cannot be changed on its own where it is"),
		);
	});

	it("of a configuration goes with objects that it leaves empty", () => {
		expect(withValue({ a: { b: { c: 1 } }, d: 2 }, ["a", "b", "c"], undefined)).toEqual({ d: 2 });
		expect(withValue({ a: [1] }, ["a", "b"], 2)).toEqual({ a: { b: 2 } });
		expect(withValue({ a: {} }, ["a"], undefined)).toEqual({});
		expect(withValue({ a: 1 }, ["a"], {})).toEqual({ a: {} });
		expect(withValue({ a: 1 }, ["a"], [])).toEqual({ a: [] });
		expect(withValue({ a: 1 }, ["b", "c"], undefined)).toEqual({ a: 1 });
		expect(withValue({ a: 1 }, ["b"], null)).toEqual({ a: 1, b: null });
	});
});
