import { describe, expect, it } from "vitest";
import { applyPlan, equalsJson } from "../../../src/engine/conversation/apply.ts";
import type { Path } from "../../../src/engine/conversation/paths.ts";
import type { Edit } from "../../../src/engine/conversation/plan.ts";
import { deepFreeze } from "../../support/deep-freeze.ts";

const size = { chars: 1, tokens: 1 };

const base = { message: 0, before: size, after: size };

const replace = (path: Path, replacement: unknown): Edit => ({
	...base,
	kind: "replace",
	reason: "mask",
	path,
	replacement,
});

const remove = (path: Path): Edit => ({ ...base, kind: "remove", reason: "drop", path });

const document = deepFreeze({
	model: "m",
	messages: [{ id: 0, content: "a" }, { id: 1, content: ["b", "c"] }, { id: 2, content: "d" }, { id: 3 }],
	tools: [{ name: "ls" }],
});

describe("applyPlan", () => {
	it("returns the document itself for an empty plan", () => {
		expect(applyPlan(document, [])).toBe(document);
	});

	it("makes every edit of the plan", () => {
		const plan = [
			replace(["messages", 0, "content"], "A"),
			replace(["messages", 1, "content", 1], "C"),
			remove(["messages", 2]),
		];
		expect(applyPlan(document, plan)).toEqual({
			model: "m",
			messages: [{ id: 0, content: "A" }, { id: 1, content: ["b", "C"] }, { id: 3 }],
			tools: [{ name: "ls" }],
		});
	});

	it("resolves all paths before any edit, in any order of edits", () => {
		const plan = [remove(["messages", 0]), replace(["messages", 2, "content"], "D"), remove(["messages", 1])];
		const expected = { ...document, messages: [{ id: 2, content: "D" }, { id: 3 }] };
		expect(applyPlan(document, plan)).toEqual(expected);
		expect(applyPlan(document, plan.toReversed())).toEqual(expected);
	});

	it("shares every value without edits", () => {
		const after = applyPlan(document, [replace(["messages", 0, "content"], "A")]) as typeof document;
		expect(after.tools).toBe(document.tools);
		expect(after.messages[1]).toBe(document.messages[1]);
		expect(after.messages[3]).toBe(document.messages[3]);
		expect(after.messages[0]).not.toBe(document.messages[0]);
	});

	it("never changes its input", () => {
		const text = JSON.stringify(document);
		applyPlan(document, [remove(["messages", 0]), replace(["messages", 1, "content"], "x")]);
		expect(JSON.stringify(document)).toBe(text);
	});

	it("keeps the order of keys", () => {
		const after = applyPlan(document, [replace(["messages"], [])]);
		expect(Object.keys(after as object)).toEqual(["model", "messages", "tools"]);
	});

	it("applies an edit of the complete document", () => {
		expect(applyPlan("old", [replace([], "new")])).toBe("new");
	});

	it("keeps a `__proto__` key as data, next to the edits and in their paths", () => {
		const hostile = JSON.parse('{"a": "old", "__proto__": {"polluted": true}, "constructor": 1}') as object;
		const after = applyPlan(hostile, [replace(["a"], "new")]);
		expect(JSON.stringify(after)).toBe('{"a":"new","__proto__":{"polluted":true},"constructor":1}');
		const within = applyPlan(hostile, [replace(["__proto__", "polluted"], false)]);
		expect(JSON.stringify(within)).toBe('{"a":"old","__proto__":{"polluted":false},"constructor":1}');
		expect(Object.getPrototypeOf(after)).toBe(Object.prototype);
		expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
	});

	it("removes members of an object with any keys, and edits others of it", () => {
		const record = JSON.parse('{"a": 1, "__proto__": {"x": 2}, "b": "old", "c": 3}') as object;
		const after = applyPlan(record, [remove(["__proto__"]), replace(["b"], "new"), remove(["a"])]);
		expect(JSON.stringify(after)).toBe('{"b":"new","c":3}');
		const kept = applyPlan(record, [remove(["c"]), replace(["b"], "new")]);
		expect(JSON.stringify(kept)).toBe('{"a":1,"__proto__":{"x":2},"b":"new"}');
	});

	it.each([
		["a missing key", ["mesages", 0]],
		["an inherited key", ["toString", "name"]],
		["an index past the end", ["messages", 9]],
		["a negative index", ["messages", -1]],
		["an index between", ["messages", 0.5]],
		["a key in a list", ["messages", "length"]],
		["a path through a string", ["model", "x"]],
	])("throws for %s", (_, path) => {
		expect(() => applyPlan(document, [replace(path as Path, "x")])).toThrow(/^Expected /);
		expect(() => applyPlan(document, [remove(path as Path)])).toThrow(/^Expected /);
	});

	it("inserts before an item and after the last one, and nowhere else", () => {
		const insert = (index: number): Edit => ({
			...base,
			kind: "insert",
			reason: "append",
			inserts: "message",
			path: ["messages", index],
			value: "new",
		});
		const messages = (index: number) => (applyPlan(document, [insert(index)]) as typeof document).messages;
		expect(messages(1)).toEqual(document.messages.toSpliced(1, 0, "new" as never));
		expect(messages(4)).toEqual([...document.messages, "new"]);
		const twice = [insert(1), { ...insert(1), value: "newer" } as Edit];
		const { messages: both } = applyPlan(document, twice) as typeof document;
		expect(both).toEqual(document.messages.toSpliced(1, 0, "new" as never, "newer" as never));
		expect(() => messages(5)).toThrow("Expected an item 5");
		const there = { ...insert(0), path: ["model"] } as Edit;
		expect(() => applyPlan(document, [there])).toThrow("Expected a list");
	});
});

describe("equalsJson", () => {
	it.each<[unknown, unknown]>([
		[1, 1],
		[null, null],
		[
			[1, { a: [] }],
			[1, { a: [] }],
		],
		[
			{ a: 1, b: null },
			{ a: 1, b: null },
		],
	])("%j is %j", (one, other) => {
		expect(equalsJson(one, other)).toBe(true);
		expect(equalsJson(other, one)).toBe(true);
	});

	it.each<[unknown, unknown]>([
		[{ 0: "x" }, "x"],
		[{}, null],
		[{}, []],
		[{ 0: 1 }, [1]],
		[[1], [1, 2]],
		[{ a: 1 }, { a: 1, b: 2 }],
		[{ a: undefined }, { b: undefined }],
		[
			{ a: 1, b: 2 },
			{ a: 1, b: 3 },
		],
		[
			{ a: 1, b: 2 },
			{ b: 2, a: 1 },
		],
	])("%j is not %j", (one, other) => {
		expect(equalsJson(one, other)).toBe(false);
		expect(equalsJson(other, one)).toBe(false);
	});
});
