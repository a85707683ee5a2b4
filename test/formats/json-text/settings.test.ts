import fc from "fast-check";
import { parse } from "jsonc-parser";
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

const key = ["servers", "own"];
const name = fc.constantFrom("a", "b", "servers", "palimpsest", "ü");
const member = fc.oneof(fc.integer(), fc.string(), fc.constant({}), fc.constant([1]), fc.constant({ own2: { x: 1 } }));
const servers = fc.oneof(fc.constant(undefined), fc.dictionary(fc.constantFrom("x", "y"), member, { maxKeys: 2 }));
interface Style {
	readonly indent: string;
	readonly eol: string;
	readonly comment: boolean;
	readonly trailing: boolean;
}
const style: fc.Arbitrary<Style> = fc.record({
	indent: fc.constantFrom("", "  ", "    ", "\t"),
	eol: fc.constantFrom("\n", "\r\n"),
	comment: fc.boolean(),
	trailing: fc.boolean(),
});

/** A settings file as people keep them: with comments and commas too many. */
function file(value: Record<string, unknown>, { indent, eol, comment, trailing }: Style): string {
	let text = JSON.stringify(value, null, indent);
	if (comment && indent !== "") text = text.replace(/\n/g, " // , it } is\n").replace(/ \/\/ , it } is\n$/, "\n");
	if (trailing && indent !== "") text = text.replace(/([\]}"0-9])( \/\/[^\n]*)?\n([ \t]*)\}/g, "$1,$2\n$3}");
	return text.replaceAll("\n", eol);
}

describe("a value added to JSON", () => {
	it("is present, everything else is unchanged, and it can be removed without a trace", () => {
		let changed = 0;
		fc.assert(
			fc.property(fc.dictionary(name, member, { maxKeys: 4 }), servers, style, (others, held, how) => {
				const value: Record<string, unknown> = { ...others };
				delete value.servers;
				if (held !== undefined) value.servers = held;
				const text = file(value, how);
				const read = (one: string) => parse(one, [], { allowTrailingComma: true });
				expect(read(text)).toEqual(value);
				const entered = enterJson(text, key, { command: "x", args: ["-y"] });
				expect(read(entered)).toEqual({ ...value, servers: { ...held, own: { command: "x", args: ["-y"] } } });
				const removed = removeFromJson(entered, key);
				const emptied = held === undefined || Object.keys(held).length > 0;
				if (emptied) expect(removed.replace(/\s/g, "")).toBe(text.replace(/\s/g, ""));
				if (emptied && Object.keys(value).length > 0 && how.indent !== "") {
					expect(removed).toBe(text);
					changed += 1;
				}
			}),
			{ numRuns: 1_000 },
		);
		expect(changed).toBeGreaterThan(150);
	});

	it("replaces the existing one", () => {
		const text = '{\n\t"servers": {\n\t\t"own": 1, // mine\n\t\t"x": 2\n\t}\n}\n';
		expect(enterJson(text, key, { a: 1 })).toBe(text.replace('"own": 1', '"own": {\n\t\t\t"a": 1\n\t\t}'));
	});
});

const refusal = (reason: string) =>
	expect.objectContaining({ code: "invalid_json", message: expect.stringContaining(reason) });

describe("settings", () => {
	it("are JSON with comments and trailing commas, or an empty file", () => {
		expect(readSettings(" \n")).toEqual({});
		expect(readSettings('{ "a": [1,], // one\n }')).toEqual({ a: [1] });
		expect(() => readSettings('{"a": }')).toThrow(refusal("it is not valid JSON"));
		expect(() => readSettings("[1]")).toThrow(refusal("it does not hold an object"));
	});

	it("hold a value at a key or none, and refuse a path through a value that is not an object", () => {
		expect(entryInJson('{"a": {"b": 1}}', ["a", "b"])).toBe(1);
		expect(entryInJson('{"a": {"b": 1}}', ["a", "c", "d"])).toBeUndefined();
		expect(entryInJson("{}", ["toString"])).toBeUndefined();
		expect(() => entryInJson('{"x": {"a": 1}}', ["x", "a", "b"])).toThrow(refusal("`x.a` is not an object"));
		expect(() => enterJson('{"a": 1}', ["a", "b"], 2)).toThrow(refusal("`a` is not an object"));
	});

	it("stay unchanged if the value is there, or if a value to remove is absent", () => {
		const text = '{ "a": {"b": 1} }';
		expect(enterJson(text, ["a"], { b: 1 })).toBe(text);
		expect(removeFromJson(text, ["a", "c"])).toBe(text);
	});

	it("get a key in the style of the file", () => {
		expect(enterJson("", ["a", "b"], 1)).toBe('{\n  "a": {\n    "b": 1\n  }\n}\n');
		expect(enterJson('{"x": 1}', ["a"], { b: 2 })).toBe('{"a": {"b":2},"x": 1}');
		expect(enterJson('{\r\n\t"x": 1\r\n}', ["a"], { b: 2 })).toBe(
			'{\r\n\t"a": {\r\n\t\t"b": 2\r\n\t},\r\n\t"x": 1\r\n}',
		);
		expect(enterJson('{\n    "x": {\n    }\n}', ["x", "a"], 1)).toBe('{\n    "x": {\n        "a": 1\n    }\n}');
		expect(enterJson("{}", ["a"], [])).toBe('{\n  "a": []\n}');
	});

	it("are refused if a member on the way is there twice", () => {
		expect(() => enterJson('{"a": {"b": 1}, "a": {"c": 1}}', ["a", "c"], 2)).toThrow(refusal("appears twice"));
		expect(() => enterJson('{"a": 1, "a": 2}', ["a"], 3)).toThrow(refusal("`a` cannot be changed on its own"));
	});
});

describe("an item added to a list of settings", () => {
	it("goes after the others, or into a new list", () => {
		expect(appendItem('{ // all\n  "list": [\n    1\n  ]\n}', ["list"], 2)).toBe(
			'{ // all\n  "list": [\n    1,\n    2\n  ]\n}',
		);
		expect(readSettings(appendItem('{"list": []}', ["list"], { a: 1 }))).toEqual({ list: [{ a: 1 }] });
		expect(appendItem(" ", ["x", "list"], 1)).toBe('{\n  "x": {\n    "list": [\n      1\n    ]\n  }\n}\n');
	});

	it("is refused where there is no list", () => {
		expect(() => appendItem('{"x": {"list": {}}}', ["x", "list"], 1)).toThrow(refusal("`x.list` is not a list"));
		expect(() => appendItem('{"list": 1, "list": []}', ["list"], 1)).toThrow(
			refusal("`list` is not a list, or appears twice"),
		);
	});
});

describe("a value taken out", () => {
	it.each([
		['{"a": 1, "b": 2}', ["a"], '{ "b": 2}'],
		['{"a": 1, "b": 2}', ["b"], '{"a": 1}'],
		['{"a": 1,}', ["a"], "{}"],
		["[1, 2, 3]", [1], "[1, 3]"],
		['{\n  "a": 1, "b": 2\n}', ["a"], '{\n  "b": 2\n}'],
		['{\n  "a": 1, // one\n  "b": 2\n}', ["a"], '{ // one\n  "b": 2\n}'],
		['{\n  "a": 1, // one\n  "b": 2\n}', ["b"], '{\n  "a": 1 // one\n}'],
	])("of %s leaves the rest", (text, path, left) => {
		expect(withoutValue(text, path)).toBe(left);
	});

	it("takes objects with it that it leaves empty", () => {
		expect(removeFromJson('{"x": 1, "a": {"b": {"c": 1}}}', ["a", "b", "c"])).toBe('{"x": 1}');
		expect(removeFromJson('{"a": {"b": {"c": 1}, "d": 2}}', ["a", "b", "c"])).toBe('{"a": { "d": 2}}');
		expect(removeFromJson('{"a": 1}', ["a"])).toBe("{}");
	});
});

describe("withValue", () => {
	it("sets a value, or takes it out with objects that it leaves empty", () => {
		expect(withValue({ x: 1 }, ["a", "b"], 2)).toEqual({ x: 1, a: { b: 2 } });
		expect(withValue({ a: 1 }, ["a", "b"], 2)).toEqual({ a: { b: 2 } });
		expect(withValue({ x: 1, a: { b: 2 } }, ["a", "b"], undefined)).toEqual({ x: 1 });
		expect(withValue({ a: { b: 2, c: 3 } }, ["a", "b"], undefined)).toEqual({ a: { c: 3 } });
		expect(withValue({}, ["a"], {})).toEqual({ a: {} });
	});
});
