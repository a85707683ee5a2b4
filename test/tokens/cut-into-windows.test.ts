import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cutIntoWindows } from "../../src/tokens/cut-into-windows.ts";
import { encodingNames, reference } from "./reference.ts";

describe("cutIntoWindows", () => {
	it("leaves a short text whole", () => {
		expect(cutIntoWindows("", 10)).toEqual([""]);
		expect(cutIntoWindows("ten chars.", 10)).toEqual(["ten chars."]);
	});

	it("loses nothing, keeps to the size and splits no code point", () => {
		fc.assert(
			fc.property(fc.string({ unit: "binary", maxLength: 60 }), fc.integer({ min: 2, max: 20 }), (text, size) => {
				const windows = cutIntoWindows(text, size);
				expect(windows.join("")).toBe(text);
				for (const window of windows) {
					expect(window.length).toBeLessThanOrEqual(size);
					expect(window.isWellFormed()).toBe(true);
				}
			}),
		);
	});

	it.each(encodingNames)("changes no count of %s where words and white space meet", (encoding) => {
		const part = fc.constantFrom("word", "don't", "x1", "42", "!!", "____", " ", "  ", "\n", "\r\n", "\t", "é");
		fc.assert(
			fc.property(fc.array(part, { minLength: 30, maxLength: 80, size: "max" }), (parts) => {
				const text = parts.map((each) => `${each} plain word`).join("\n ");
				const windows = cutIntoWindows(text, 60);
				expect(windows.length).toBeGreaterThan(3);
				const apart = windows.reduce((sum, window) => sum + reference[encoding](window), 0);
				expect(apart).toBe(reference[encoding](text));
			}),
		);
	});
});
