import { describe, expect, it } from "vitest";
import { fitsOutputSchema } from "../../src/mcp/output-schema.ts";

const patterned = (pattern: string) => ({ type: "object", properties: { data: { type: "string", pattern } } });

describe("structured content", () => {
	it.each([
		["^[a-c]+$", "abc", true],
		["^[a-c]+$", "abx", false],
		["abc", "xx abc xx", true],
		["^\\p{L}\\u00e9\\d\\s\\w$", "éé1 a", true],
		["^a\\/b\\-c[\\s\\S]d$", "a/b-c\nd", true],
		["(?<first>a)b", "ab", true],
		// RE2 has no lookaround and no back-references.
		["^(?=a)", "a", false],
		["(a)\\1", "aa", false],
	])("is matched with %s as a client does: %j", (pattern, data, fits) => {
		expect(fitsOutputSchema({ data }, patterned(pattern))).toBe(fits);
	});

	it("is checked by formats, and by a schema of a stranger's id", () => {
		const dated = { type: "object", properties: { day: { type: "string", format: "date" } }, $id: "x:y" };
		expect(["2026-11-28", "today"].map((day) => fitsOutputSchema({ day }, dated))).toEqual([true, false]);
		expect(fitsOutputSchema({ day: 1 }, { type: 7 })).toBe(false);
	});

	// With the patterns of JavaScript each of these takes years.
	const many = `${"a".repeat(60)}!`;
	it.each([
		["a value", { data: many }, patterned("^(a+)+$")],
		["a name", { [many]: 1 }, { type: "object", propertyNames: { pattern: "^(a+)+$" } }],
		["the names of properties", { [many]: 1 }, { patternProperties: { "^(a+)+$": { type: "string" } } }],
	])("is matched in linear time: %s", (_what, content, schema) => {
		expect(typeof fitsOutputSchema(content, schema)).toBe("boolean");
	});

	it("fits no schema whose check does not end", () => {
		const twice = (at: number) => ({ allOf: [{ $ref: `#/$defs/${at}` }, { $ref: `#/$defs/${at}` }] });
		const $defs = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [at, twice(at + 1)]));
		expect(fitsOutputSchema({}, { $ref: "#/$defs/0", $defs: { ...$defs, 60: { type: "object" } } })).toBe(false);
	});
});
