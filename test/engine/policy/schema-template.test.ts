import { expect, it } from "vitest";
import { policyLayerSchema } from "../../../src/engine/policy/schema.ts";

it("a template refuses unknown variables once each, and split characters, and keeps other braces", () => {
	const issues = policyLayerSchema
		.safeParse({ guard: { marker_template: "{b} {} {1} {ref}{b} { c }\ud83d" } })
		.error?.issues.map((issue) => issue.message);
	expect(issues).toEqual([
		"unknown variable {b}; known: {omitted_chars}, {original_chars}, {ref}",
		"half a character (a lone surrogate), which no API accepts",
	]);
});
