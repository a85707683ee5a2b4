import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hasTooManyValues } from "../../src/proxy/body.ts";

describe("a body has too many values for a conversation", () => {
	const lists = (count: number) => "[".repeat(count) + "]".repeat(count);
	const objects = (count: number) => `${'{"a":'.repeat(count)}1${"}".repeat(count)}`;
	const escaped = '\\"'.repeat(500_000);

	it.each([
		["100 001 commas", `[${"0,".repeat(100_001)}0]`, true],
		["100 000 commas", `[${"0,".repeat(100_000)}0]`, false],
		["100 001 nested lists", lists(100_001), true],
		["100 000 nested lists", lists(100_000), false],
		["100 001 nested objects", objects(100_001), true],
		["commas and brackets in a string", `{"text":"${"[{,".repeat(200_000)}"}`, false],
		["commas after escaped quotes in a string", `{"text":"${escaped}${",".repeat(200_000)}"}`, false],
		["commas after a string of escaped quotes", `{"text":"${escaped}","list":[${"0,".repeat(100_001)}0]}`, true],
		["escaped quotes without end", `{"text":"${escaped}`, false],
	])("with %s: %s", (_, text, expected) => {
		expect(hasTooManyValues(Buffer.from(text))).toBe(expected);
	});

	it("by what is outside of its strings, wherever their escapes are", () => {
		const string = fc.string({ unit: fc.constantFrom("\\", '"', "a", "bbbb".repeat(80), ","), maxLength: 40 });
		fc.assert(
			fc.property(fc.array(string, { maxLength: 20 }), fc.boolean(), (texts, isMany) => {
				const padding = `"${"x".repeat(100_000)}"`;
				const list = `[${"0,".repeat(isMany ? 100_001 : 99_000)}0]`;
				const text = `[${JSON.stringify(texts)},${padding},${list}]`;
				expect(hasTooManyValues(Buffer.from(text))).toBe(isMany);
			}),
			{ numRuns: 50 },
		);
	});
});
