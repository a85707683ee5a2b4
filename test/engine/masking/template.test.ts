import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { placeholderReader } from "../../../src/engine/masking/placeholder.ts";
import {
	fillTemplate,
	templateFinder,
	templateParts,
	templatePattern,
	waysToDivide,
} from "../../../src/engine/masking/template.ts";
import { locales } from "../../../src/engine/policy/wordings.ts";
import { leastOfCases, numberOfCases } from "../../support/case-divisor.ts";

describe("fillTemplate", () => {
	it("fills every occurrence, but no variables inside values", () => {
		expect(fillTemplate("{a}-{b}-{a}", { a: "{b}", b: 2 })).toBe("{b}-2-{b}");
	});

	it("keeps a brace that nothing closes", () => {
		expect(fillTemplate("{size} {sizes", { size: 1 })).toBe("1 {sizes");
		expect(fillTemplate("}{size}{", { size: 1 })).toBe("}1{");
	});

	it("reads no value from a prototype", () => {
		expect(fillTemplate("{constructor}", {})).toBe("{constructor}");
	});

	it("takes replacement patterns literally", () => {
		expect(fillTemplate("<{a}>", { a: "$& $1" })).toBe("<$& $1>");
	});
});

const grammar = { name: "[ab😀]{0,3}", size: "\\d{1,2}", ref: "[a-c1]{1,4}" };

/** Has more ways to divide a text than a regular expression is used for. */
const manyWays = { long: "x{0,2000}", wide: "x{0,2000}" };

/** The same by a regular expression, for templates in which each variable stands once. */
function byExpression(template: string): RegExp {
	const source = template.replaceAll(/\{(\w+)\}/g, (_, name: keyof typeof grammar) => `(?<${name}>${grammar[name]})`);
	return new RegExp(`^${source}$`, "u");
}

describe("a template that divides a text in many ways", () => {
	it("finds the same values as a regular expression", () => {
		const variables = fc
			.subarray(["{name}", "{size}", "{ref}"])
			.chain((chosen) => fc.shuffledSubarray(chosen, { minLength: chosen.length }));
		const literal = fc.string({ unit: fc.constantFrom("a", "b", "1", "-", "😀"), maxLength: 2 });
		const template = fc
			.tuple(variables, fc.array(literal, { minLength: 4, maxLength: 4 }))
			.map(([names, texts]) => texts.map((text, index) => text + (names[index] ?? "")).join(""));
		const text = fc.string({ unit: fc.constantFrom("a", "b", "c", "1", "2", "-", "😀", "\uD83D"), maxLength: 8 });
		let [matched, missed] = [0, 0];
		const one = (given: string, value: string) => {
			const expected = byExpression(given).exec(value);
			const pattern = templatePattern(`{long}{wide}|${given}`, { ...grammar, ...manyWays });
			const found = pattern.exec(`|${value}`)?.groups;
			const groups = expected ? { ...expected.groups, long: "", wide: "" } : undefined;
			expect(found, `${given} in ${JSON.stringify(value)}`).toEqual(groups);
			if (expected) matched += 1;
			else missed += 1;
		};
		fc.assert(
			fc.property(template, text, fc.array(text, { minLength: 3, maxLength: 3 }), (given, any, values) => {
				one(given, any);
				// One that a template gives as a rule.
				let index = 0;
				one(
					given,
					given.replaceAll(/\{\w+\}/g, () => values[index++]?.slice(0, 2) ?? ""),
				);
			}),
			{ numRuns: numberOfCases(3_000) },
		);
		expect(matched).toBeGreaterThan(leastOfCases(300));
		expect(missed).toBeGreaterThan(leastOfCases(1_000));
	});

	it("scans a text once per part, for any number of ways to divide it", () => {
		const long = { one: "[^x]{0,2000}", two: "[^x]{0,64}", three: "[^x]{0,64}", four: "\\d+" };
		const template = "{one}{two}{three}{four}!";
		expect(waysToDivide(templateParts(template, long))).toBe(2_000 * 64 * 64);
		const pattern = templatePattern(template, long);
		expect(pattern.exec("1".repeat(2_100))).toBeNull();
		expect(pattern.exec(`${"1".repeat(2_100)}!`)?.groups).toEqual({
			one: "1".repeat(2_000),
			two: "1".repeat(64),
			three: "1".repeat(35),
			four: "1",
		});
	});
});

describe("waysToDivide", () => {
	it.each([
		["{name} {size}", 1],
		["{name}a{size}", 3],
		["{name}ab{size}", 2],
		["{name}a {size}", 1],
		["{size}{ref}", 2],
		["{name}{ref}{size}", 12],
		["{name}-{name}{name}", 1],
		["nothing", 1],
		["{name}aa{size}", 3],
		["{name}aba{size}", 2],
		["{name}abab{size}", 2],
		["{name}", 1],
		["{size}a", 1],
	])("of %s is %i", (template, ways) => {
		expect(waysToDivide(templateParts(template, grammar))).toBe(ways);
	});

	it("of every built-in wording is low enough for a regular expression", () => {
		const value = "[^\\[\\](){}<>\\r\\n]{0,128}";
		const own = {
			tool_call_id: value,
			tool_name: value,
			digest: value,
			media: value,
			original_chars: "\\d{1,16}",
			ref: "[A-Za-z0-9-]{1,40}",
		};
		const templates = Object.values(locales).flatMap(({ archived, ...bare }) =>
			[...Object.values(bare), ...Object.values(archived)].filter((one) => typeof one === "string"),
		);
		expect(templates.length).toBeGreaterThan(9);
		for (const template of templates) expect(waysToDivide(templateParts(template, own)), template).toBeLessThan(1_000);
	});
});

describe("a custom template with adjacent variables", () => {
	// Divided by a regular expression, a text such as these takes hours.
	const digits = "1".repeat(3_000);

	it("is recognised when filled in, and does not slow down other texts", () => {
		const read = placeholderReader(["{digest}{tool_name}{tool_call_id}{original_chars}{ref}!"]);
		expect(read(digits)).toBeUndefined();
		expect(read(`${digits.slice(0, 2_050)}!`)).toMatchObject({ ref: "1" });
		expect(read("see a.ts, b.tsreadcall_112abc!")).toMatchObject({ ref: expect.any(String) });
	});

	it("is matched to its end", () => {
		const pattern = templatePattern("{name}{size}{ref}", { name: "\\w{0,64}", size: "\\w{0,64}", ref: "\\d+" });
		expect([pattern.test("ab12"), pattern.test("ab"), pattern.test("ab1 ")]).toEqual([true, false, false]);
		expect(pattern.exec("ab12")?.groups).toEqual({ name: "ab1", size: "", ref: "2" });
		expect(pattern.exec("ab")).toBeNull();
	});

	it("has values of at least and at most so many characters, as long as possible from the first on", () => {
		const grammar = { name: "\\w{1,40}", size: "\\w{0,3}", ref: "\\w{1,40}" };
		const groupsOf = (template: string, text: string) => templatePattern(template, grammar).exec(text)?.groups;
		expect(groupsOf("{name}{ref}{size}", "a")).toBeUndefined();
		expect(groupsOf("{name}{ref}{size}", "ab")).toEqual({ name: "a", ref: "b", size: "" });
		const long = (length: number) => "x".repeat(length);
		expect(groupsOf("{name}{ref}{size}", long(83))).toEqual({ name: long(40), ref: long(40), size: long(3) });
		expect(groupsOf("{name}{ref}{size}", long(84))).toBeUndefined();
		expect(groupsOf("<{name}{ref}>{size}", `<${long(50)}>ab`)).toEqual({ name: long(40), ref: long(10), size: "ab" });
		expect(groupsOf("<{name}{ref}>{size}", `${long(50)}>ab`)).toBeUndefined();
	});

	it("takes a grammar with a number, a range or one character, and braces of other names literally", () => {
		const grammar = { name: "[a-z]{0,64}", size: "\\d+", sign: "[+-]" };
		const parts = templateParts("{sign}{size}{name}{other}{name}x", grammar);
		expect(parts).toEqual([
			{ kind: "value", variable: "sign", isAgain: false, characters: "[+-]", least: 1, most: Number.POSITIVE_INFINITY },
			{ kind: "value", variable: "size", isAgain: false, characters: "\\d", least: 1, most: Number.POSITIVE_INFINITY },
			{ kind: "value", variable: "name", isAgain: false, characters: "[a-z]", least: 0, most: 64 },
			{ kind: "literal", text: "{other}" },
			{ kind: "value", variable: "name", isAgain: true, characters: "[a-z]", least: 0, most: 64 },
			{ kind: "literal", text: "x" },
		]);
		expect(templateParts("{name", grammar)).toEqual([{ kind: "literal", text: "{name" }]);
	});

	it("is searched for within texts where it can be divided in 100 ways at most", () => {
		const finds = (most: number) => "ab".match(templateFinder("{name}{ref}", { name: `\\w{1,${most}}`, ref: "\\w+" }));
		expect([finds(100), finds(101)]).toEqual([["ab"], null]);
	});

	it("is not searched for within texts", () => {
		const count = { omitted: "\\d{1,16}", total: "\\d{1,16}", ref: "[A-Za-z0-9-]{1,40}" };
		expect(digits.match(templateFinder("{omitted}{total}{ref}!", count))).toBeNull();
		expect("cut 12 of 40: x1".match(templateFinder("{omitted} of {total}: {ref}", count))).toEqual(["12 of 40: x1"]);
	});

	it("is exact as long as the ways to divide it are few", () => {
		const pattern = templatePattern("{name} {name}", { name: "[a-z ]{0,64}" });
		expect([pattern.test("a a"), pattern.test("a b")]).toEqual([true, false]);
	});
});

const patternGrammar = { name: "[a-z]{0,64}", size: "\\d+" };

describe("templatePattern", () => {
	it("matches the filled template, from start to end", () => {
		const pattern = templatePattern("[{name} ({size})]", patternGrammar);
		expect(pattern.test("[ls (12)]")).toBe(true);
		expect(pattern.test("[ls (12)] ")).toBe(false);
		expect(pattern.test("[ls ()]")).toBe(false);
	});

	it("reads all other text literally", () => {
		expect(templatePattern("{0} {other} $^ a.b", patternGrammar).test("{0} {other} $^ a.b")).toBe(true);
		expect(templatePattern("{0}", patternGrammar).test("anything")).toBe(false);
		expect(templatePattern("{constructor}", patternGrammar).test("{constructor}")).toBe(true);
	});

	it("a repeated variable has the same value each time", () => {
		const pattern = templatePattern("{name}-{name}", patternGrammar);
		expect(pattern.test("ls-ls")).toBe(true);
		expect(pattern.test("ls-cat")).toBe(false);
	});

	it("is fast for a template that repeats a variable a hundred times", () => {
		const pattern = templatePattern("{name}a".repeat(100), patternGrammar);
		const started = performance.now();
		expect(pattern.test(`${"a".repeat(2_000)}!`)).toBe(false);
		expect(performance.now() - started).toBeLessThan(20_000);
	});
});
