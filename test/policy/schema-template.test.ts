import { describe, expect, it } from "vitest";
import { templateSchema, templateVariables } from "../../src/policy/schema.ts";

describe("templates", () => {
	it("lists variables in order and keeps other braces", () => {
		expect(templateVariables("{b} {} {1} {a}{b} { c }")).toEqual(["b", "a", "b"]);
	});

	it("refuses unknown variables once each, and split characters", () => {
		const issues = templateSchema(["a"])
			.safeParse("{b}{b}{a}\ud83d")
			.error?.issues.map((issue) => issue.message);
		expect(issues).toEqual([
			"unknown variable {b}; known: {a}",
			"half a character (a lone surrogate), which no API accepts",
		]);
	});
});
