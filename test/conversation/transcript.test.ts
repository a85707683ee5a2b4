import { describe, expect, it } from "vitest";
import { childPath, jsonPointer, type Path, valueAt } from "../../src/conversation/transcript.ts";

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
