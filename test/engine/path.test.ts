import { describe, expect, it } from "vitest";
import { jsonPointer, valueAt } from "../../src/engine/path.ts";

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

describe("valueAt", () => {
	const document = { list: [{ text: "x" }], empty: null };

	it("follows keys and indexes", () => {
		expect(valueAt(document, ["list", 0, "text"])).toBe("x");
		expect(valueAt(document, [])).toBe(document);
	});

	it.each([[["list", 1]], [["none"]], [["empty", "x"]], [["toString"]], [["list", 0, "text", 0]]])(
		"has nothing at %j",
		(path) => {
			expect(valueAt(document, path)).toBeUndefined();
		},
	);
});
