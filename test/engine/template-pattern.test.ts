import { describe, expect, it } from "vitest";
import { templatePattern } from "../../src/engine/template-pattern.ts";

const grammar = { name: "[a-z]{0,64}", size: "\\d+" };

describe("templatePattern", () => {
	it("matches what filling the template gives, from start to end", () => {
		const pattern = templatePattern("[{name} ({size})]", grammar);
		expect(pattern.test("[ls (12)]")).toBe(true);
		expect(pattern.test("[ls (12)] ")).toBe(false);
		expect(pattern.test("[ls ()]")).toBe(false);
	});

	it("takes what is no variable literally", () => {
		expect(templatePattern("{0} {other} $^ a.b", grammar).test("{0} {other} $^ a.b")).toBe(true);
		expect(templatePattern("{0}", grammar).test("anything")).toBe(false);
		expect(templatePattern("{constructor}", grammar).test("{constructor}")).toBe(true);
	});

	it("a variable that stands again has the same value again", () => {
		const pattern = templatePattern("{name}-{name}", grammar);
		expect(pattern.test("ls-ls")).toBe(true);
		expect(pattern.test("ls-cat")).toBe(false);
	});

	it("is fast for a template that repeats a variable a hundred times", () => {
		const pattern = templatePattern("{name}a".repeat(100), grammar);
		const started = performance.now();
		expect(pattern.test(`${"a".repeat(2_000)}!`)).toBe(false);
		expect(performance.now() - started).toBeLessThan(20_000);
	});
});
