import { describe, expect, it } from "vitest";
import { fillTemplate } from "../../src/engine/fill-template.ts";

describe("fillTemplate", () => {
	it("fills every occurrence and does not fill what a value brings", () => {
		expect(fillTemplate("{a}-{b}-{a}", { a: "{b}", b: 2 })).toBe("{b}-2-{b}");
	});

	it("takes no value from a prototype", () => {
		expect(fillTemplate("{constructor}", {})).toBe("{constructor}");
	});

	it("takes replacement patterns literally", () => {
		expect(fillTemplate("<{a}>", { a: "$& $1" })).toBe("<$& $1>");
	});
});
