import { describe, expect, it } from "vitest";
import { compactJson } from "../../../src/engine/conversation/json.ts";
import { readTextDocument } from "../../../src/formats/json-text/read.ts";
import { sha256Of, unsafeIntegers } from "../../../src/formats/json-text/value.ts";
import { applyEdits, invertEdits } from "../../../src/index.ts";

const levels = 10_000;
const nested = (open: string, inner: string, close: string, depth = levels) =>
	open.repeat(depth) + inner + close.repeat(depth);
const deepTexts = {
	lists: nested("[", "", "]"),
	objects: nested('{"a":', "1", "}"),
	both: nested('[{"__proto__":[1,"é\\n",', "null", ',2],"b":{}}]'),
};

describe.each(Object.entries(deepTexts))("10 000 levels of %s", (_what, text) => {
	it("are written unchanged", () => {
		expect(() => JSON.stringify(JSON.parse(text))).toThrow(RangeError);
		expect(compactJson(JSON.parse(text))).toBe(text);
		expect(sha256Of(JSON.parse(text))).toBe(sha256Of(text));
	});

	it("stay unchanged next to an edit, and can be replaced and removed", () => {
		const source = `[ ${text} , "old", ${text}]`;
		const edited = applyEdits(source, [
			{ kind: "replace", path: "/1", sha256_before: sha256Of("old"), replacement: JSON.parse(text) },
			{ kind: "remove", path: "/2", sha256_before: sha256Of(text) },
		]);
		expect(edited.text).toBe(`[ ${text} , ${text}]`);
		expect(invertEdits(edited)).toBe(source);
	});

	it("are reported as truncated", () => {
		const cut = text.slice(0, -1);
		const place = `line 1, column ${cut.length + 1}: it ends too early`;
		expect(() => readTextDocument(cut, "the text")).toThrow(place);
	});
});

describe("unsafeIntegers", () => {
	it("names the first ten positions, in order", () => {
		const document = { a: Array.from({ length: 12 }, () => 2 ** 53), "b/~": -(2 ** 60), c: 2 ** 53 - 1, d: 0.5 };
		expect(unsafeIntegers(document)).toEqual(Array.from({ length: 10 }, (_, index) => `/a/${index}`));
		expect(unsafeIntegers({ ...document, a: [] })).toEqual(["/b~1~0"]);
	});

	it("takes linear time in the depth", () => {
		const value = JSON.parse(nested("[", "9007199254740993", "]", 300_000));
		const start = performance.now();
		expect(unsafeIntegers(value)).toEqual(["/0".repeat(300_000)]);
		expect(performance.now() - start).toBeLessThan(20_000);
	});
});
