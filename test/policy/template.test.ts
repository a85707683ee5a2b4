import { describe, expect, it } from "vitest";
import { fillTemplate, templateSchema, templateVariables } from "../../src/policy/template.ts";

describe("templates", () => {
	it("lists variables in order and leaves other braces alone", () => {
		expect(templateVariables("{b} {} {1} {a}{b} { c }")).toEqual(["b", "a", "b"]);
	});

	it("fills every occurrence and does not fill what a value brings", () => {
		expect(fillTemplate("{a}-{b}-{a}", { a: "{b}", b: 2 })).toBe("{b}-2-{b}");
	});

	it("takes no value from a prototype", () => {
		expect(fillTemplate("{constructor}", {})).toBe("{constructor}");
	});

	it("takes replacement patterns literally", () => {
		expect(fillTemplate("<{a}>", { a: "$& $1" })).toBe("<$& $1>");
	});

	it("refuses unknown variables once each, and half characters", () => {
		const issues = templateSchema(["a"])
			.safeParse("{b}{b}{a}\ud83d")
			.error?.issues.map((issue) => issue.message);
		expect(issues).toEqual([
			"unknown variable {b}; known: {a}",
			"half a character (a lone surrogate), which no API accepts",
		]);
	});
});
