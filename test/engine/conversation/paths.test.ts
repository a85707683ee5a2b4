import { describe, expect, it } from "vitest";
import {
	childPath,
	equalsPath,
	isListed,
	itemBeside,
	jsonPointer,
	type Path,
	parseInsertPointer,
	parseJsonPointer,
	recordOf,
	startsWith,
	valueAt,
} from "../../../src/engine/conversation/paths.ts";

describe("jsonPointer", () => {
	it.each([
		[[], ""],
		[["messages", 0, "content"], "/messages/0/content"],
		[["a/b", "c~d", "~1"], "/a~1b/c~0d/~01"],
		[[""], "/"],
	])("%j is %s", (path, pointer) => {
		expect(jsonPointer(path)).toBe(pointer);
	});
});

describe("parseJsonPointer", () => {
	const document = { list: ["x"], "a/b": { "c~d": 1 }, empty: null, long: [..."abcdefghijkl"] };

	it("finds the path of a value", () => {
		expect(parseJsonPointer("", document)).toEqual([]);
		expect(parseJsonPointer("/list/0", document)).toEqual(["list", 0]);
		expect(parseJsonPointer("/a~1b/c~0d", document)).toEqual(["a/b", "c~d"]);
	});

	it.each(["list", "xlist", "xlist/0", "/list/1", "/list/00", "/list/length", "/none", "/list/0/length", "/empty/x"])(
		"finds nothing at %s",
		(pointer) => {
			expect(parseJsonPointer(pointer, document)).toBeUndefined();
		},
	);

	it("finds the place of an insert up to the end of a list", () => {
		expect(parseInsertPointer("/list/1", document)).toEqual(["list", 1]);
		expect(parseInsertPointer("/0", ["x"])).toEqual([0]);
		expect(parseInsertPointer("/long/12", document)).toEqual(["long", 12]);
		for (const pointer of ["/long/13", "/long/1x", "/list/2", "/list/01", "/list/x", "/a~1b/0", "/none/0"]) {
			expect(parseInsertPointer(pointer, document)).toBeUndefined();
		}
		expect(parseInsertPointer("0", ["x"])).toBeUndefined();
	});

	it("finds the item next to an insert: the one there, or the last one, or the empty list", () => {
		expect(itemBeside(["x", "y"], [0])).toBe("x");
		expect(itemBeside(["x", "y"], [2])).toBe("y");
		expect(itemBeside({ list: [] }, ["list", 0])).toEqual([]);
		expect(itemBeside({ list: "x" }, ["list", 0])).toBeUndefined();
	});
});

describe("childPath", () => {
	it("adds one segment at any depth, and keeps the path unchanged", () => {
		let path: Path = [];
		for (const [depth, segment] of ["messages", 3, "content", 0, "text"].entries()) {
			const child = childPath(path, segment);
			expect(child).toEqual([...path, segment]);
			expect(path).toHaveLength(depth);
			path = child;
		}
	});
});

describe("valueAt", () => {
	const document = { list: [{ text: "x" }], empty: null };

	it("follows keys and indexes", () => {
		expect(valueAt(document, ["list", 0, "text"])).toBe("x");
		expect(valueAt(document, [])).toBe(document);
	});

	it.each([[["list", 1]], [["none"]], [["empty", "x"]], [["toString"]], [["list", 0, "text", 0]]])(
		"finds nothing at %j",
		(path) => {
			expect(valueAt(document, path)).toBeUndefined();
		},
	);
});

describe("a path", () => {
	it("starts with another one, or equals it", () => {
		expect(startsWith(["a", 0], ["a"])).toBe(true);
		expect(startsWith(["a", 0], ["a", 0])).toBe(true);
		expect(startsWith(["a", 0], [])).toBe(true);
		expect(startsWith(["a"], ["a", 0])).toBe(false);
		expect(startsWith(["a", 0], ["b"])).toBe(false);
		expect(startsWith(["a", 0], ["a", "0"])).toBe(false);
		expect(equalsPath(["a", 0], ["a", 0])).toBe(true);
		expect(equalsPath(["a", 0], ["a"])).toBe(false);
		expect(equalsPath(["a"], ["a", 0])).toBe(false);
		expect(equalsPath(["a"], ["b"])).toBe(false);
		const same = ["a"];
		expect(equalsPath(same, same)).toBe(true);
	});

	it("is of an item of a list, or within one", () => {
		expect(isListed(["messages", 3], ["messages"])).toBe(true);
		expect(isListed([3], [])).toBe(true);
		expect(isListed(["messages"], ["messages"])).toBe(false);
		expect(isListed(["messages", 3, "content"], ["messages"])).toBe(false);
		expect(isListed(["tools", 3], ["messages"])).toBe(false);
		expect(recordOf("/messages/3/content/0", ["messages"])).toBe("/messages/3");
		expect(recordOf("/3/content", [])).toBe("/3");
		expect(recordOf("/3", [])).toBe("/3");
	});
});
