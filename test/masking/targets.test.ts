import { describe, expect, it } from "vitest";
import { isAbsolute, normalisePath } from "../../src/masking/targets.ts";

describe("normalisePath", () => {
	it.each([
		["a.ts", "a.ts"],
		["./a.ts", "a.ts"],
		["src//x/../a.ts/", "src/a.ts"],
		["../a.ts", "../a.ts"],
		["../../a.ts", "../../a.ts"],
		["/a/./b", "/a/b"],
		["/", "/"],
		[".", "."],
		["a/..", "."],
		["C:\\p\\a.ts", "C:/p/a.ts"],
		["file:///p/a.ts", "/p/a.ts"],
		["~/a.ts", "~/a.ts"],
		["a b.ts", "a b.ts"],
	])("%s is %s", (path, normalised) => {
		expect(normalisePath(path)).toBe(normalised);
		expect(normalisePath(normalised)).toBe(normalised);
	});

	it.each(["", "*.ts", "$HOME/a", "https://a.b/c", "/dev/null", "a\nb", "a".repeat(1_001), "`ls`", "a|b"])(
		"%j is not a path of a file",
		(path) => {
			expect(normalisePath(path)).toBeUndefined();
		},
	);

	it("resolves a relative path in a folder", () => {
		expect(normalisePath("../a.ts", "/repo/src")).toBe("/repo/a.ts");
		expect(normalisePath("/a.ts", "/repo")).toBe("/a.ts");
		expect(normalisePath("a.ts", "/")).toBe("/a.ts");
	});

	it("recognises absolute paths", () => {
		expect(["/a", "~/a", "C:/a", "c:\\a"].every(isAbsolute)).toBe(true);
		expect(["a", "./a", "../a", "C:a", ""].some(isAbsolute)).toBe(false);
	});
});
