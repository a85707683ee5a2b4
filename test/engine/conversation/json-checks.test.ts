import { describe, expect, it } from "vitest";
import {
	compactJson,
	isJsonObject,
	isPlainJson,
	NotJsonError,
	parseJsonObject,
	requireJson,
	stringify,
} from "../../../src/engine/conversation/json.ts";

function nested(levels: number, innermost: unknown): unknown {
	let value = innermost;
	for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? { a: value } : [value];
	return value;
}

const circle: Record<string, unknown> = { a: 1 };
circle.self = [circle];

const endless = { toJSON: () => ({ toJSON: endless.toJSON }) };

const broken = {
	get a() {
		throw new Error("Not now.");
	},
};

describe("requireJson", () => {
	it.each<[string, unknown]>([
		["plain values", { a: [1, "b", null, true, undefined], c: () => 1 }],
		["undefined", undefined],
		["a date, which writes a text", { at: new Date(0) }],
		["what an object writes of itself", { toJSON: () => ({ a: 1 }) }],
		["a value that is there twice", [nested(3, 1), nested(3, 1)]],
		["values far down", nested(1_000, "x")],
		["values deeper than the stack", nested(50_000, "x")],
		["a member of its prototype", Object.create({ a: 1 })],
		["a list with a name, which JSON leaves out", Object.assign([1], { a: 1n })],
		["an object that writes another object that writes itself, without end", endless],
		["an object that writes itself by its key", { toJSON: (key: string) => (key === "" ? 1 : 1n) }],
	])("accepts %s", (_, value) => {
		expect(() => requireJson(value)).not.toThrow();
	});

	it.each<[string, unknown]>([
		["a bigint", 1n],
		["a bigint in a list", [[1n]]],
		["a bigint in an object", { a: { b: 1n } }],
		["a bigint far down", nested(1_000, 1n)],
		["an object that writes a bigint", { toJSON: () => [1n] }],
		["a member that writes a bigint", { a: [{ toJSON: () => 1n }] }],
		["an object in itself", circle],
		["an object that writes itself in a list", { toJSON: () => [circle] }],
		["a property that cannot be read", broken],
		["an object that cannot be written", { toJSON: () => JSON.parse("{") }],
	])("refuses %s", (_, value) => {
		expect(() => requireJson(value)).toThrow(NotJsonError);
	});

	it("names the cause of a refusal, if there is one", () => {
		const errorOf = (value: unknown) => {
			try {
				requireJson(value);
			} catch (error) {
				return error as NotJsonError;
			}
			throw new Error("Expected an error.");
		};
		expect(errorOf(broken)).toMatchObject({ name: "NotJsonError", cause: { message: "Not now." } });
		expect(errorOf(1n).cause).toBeUndefined();
	});
});

describe("stringify", () => {
	it("writes as JSON does, with a replacer, or nothing", () => {
		expect(stringify({ a: 1, b: [2] })).toBe('{"a":1,"b":[2]}');
		expect(stringify({ a: 1 }, (_key, value) => (value === 1 ? 2 : value))).toBe('{"a":2}');
		expect(stringify(undefined)).toBeUndefined();
		expect(compactJson(undefined)).toBe("");
	});

	it("refuses values that JSON cannot hold, and passes on other errors", () => {
		expect(() => stringify(1n)).toThrow(NotJsonError);
		expect(() => stringify(circle)).toThrow(NotJsonError);
		expect(() => stringify(broken)).toThrow("Not now.");
		expect(() => compactJson(broken)).toThrow("Not now.");
		const closed = { toJSON: () => broken.a };
		expect(() => compactJson(closed)).toThrow("Not now.");
	});
});

describe("isPlainJson", () => {
	class Own {
		a = 1;
	}

	it.each<[string, unknown]>([
		["undefined", undefined],
		["an empty list before an absent value", [undefined, []]],
		["a text", "x"],
	])("accepts %s", (_, value) => {
		expect(isPlainJson(value)).toBe(true);
	});

	it.each<[string, unknown]>([
		["a function alone", () => 1],
		["a symbol", { a: Symbol("a") }],
		["a bigint alone", 1n],
		["a map", new Map()],
		["an object of a class", [new Own()]],
		["a hole at the end", Object.assign([1], { length: 2 })],
		["a list with a name", Object.assign([1], { a: 1 })],
		["a wrong value after others", [undefined, 1, { a: [2, () => 1] }]],
		["a wrong value before others", { a: () => 1, b: 1 }],
	])("refuses %s", (_, value) => {
		expect(isPlainJson(value)).toBe(false);
	});

	it("refuses values that cannot be read", () => {
		const closed = new Proxy({}, { ownKeys: () => JSON.parse("{") });
		expect(isPlainJson(closed)).toBe(false);
	});
});

it("distinguishes objects from lists and null", () => {
	expect([{}, [], null, "x", undefined, 1].map(isJsonObject)).toEqual([true, false, false, false, false, false]);
	expect(parseJsonObject('\n\t{"a":[]}')).toEqual({ a: [] });
	expect([parseJsonObject(""), parseJsonObject("x{}"), parseJsonObject("{}x")]).toEqual([...Array(3)]);
});
