import { expect, it } from "vitest";
import { lineDifference } from "../../src/commands/install.ts";

const lines = (...changed: readonly number[]) =>
	Array.from({ length: 12 }, (_, index) => (changed.includes(index) ? `new ${index}\n` : `line ${index}\n`)).join("");

it("shows changed lines with three lines of context", () => {
	expect(lineDifference(lines(), lines(1, 11))).toBe(
		"  line 0\n- line 1\n+ new 1\n  line 2\n  line 3\n  line 4\n  …\n  line 8\n  line 9\n  line 10\n- line 11\n+ new 11\n",
	);
});

it("shows a new file and a deleted file", () => {
	expect(lineDifference(undefined, "a\nb\n")).toBe("+ a\n+ b\n");
	expect(lineDifference("a\nb\n", undefined)).toBe("- a\n- b\n");
});

it("ignores line breaks of Windows and at the end of the file", () => {
	expect(lineDifference("a\r\nb\r\nc", "a\nB\nc\n")).toBe("  a\n- b\n+ B\n  c\n");
});
