import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/engine/conversation/json.ts";
import { outputChecker } from "../../src/mcp/output-schema.ts";

const fitsOutputSchema = (content: unknown, schema: JsonObject) => outputChecker(schema)(content)?.length === 0;
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

	it("is checked as draft 2020-12 too, unless the schema names an older one, and names what does not fit", () => {
		const tuple = { type: "object", properties: { row: { type: "array", prefixItems: [{ type: "number" }] } } };
		expect(outputChecker(tuple)({ row: ["a"] })).toEqual(["/row/0"]);
		expect(
			outputChecker({ ...tuple, $schema: "https://json-schema.org/draft/2020-12/schema" })({ row: ["a"] }),
		).toEqual(["/row/0"]);
		expect(outputChecker({ ...tuple, $schema: "http://json-schema.org/draft-07/schema#" })({ row: ["a"] })).toEqual([]);
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
