import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { indexPatterns } from "../../../src/engine/truncation/pattern-index.ts";
import { numberOfCases } from "../../support/case-divisor.ts";

/** The alternatives that are listed for a text, by their sources. */
const listed = (patterns: readonly RegExp[], text: string) =>
	indexPatterns(patterns.map((pattern) => ["kind", pattern] as const))(text).map(({ pattern }) => pattern.source);

describe("the alternatives listed for a text", () => {
	it.each<[pattern: RegExp, text: string, expected: readonly string[]]>([
		[/foo|bar/, "a foo", ["foo"]],
		[/foo|bar/, "A BAR", ["bar"]],
		[/foo|bar/, "fo ba", []],
		[/FOO/i, "foo", ["FOO"]],
		[/foo/, "foo foo", ["foo"]],
		[/(?:foo|bar)/, "foobar", ["(?:foo|bar)"]],
		[/foo|foobar|oba|ar/, "foobar", ["foo", "foobar", "oba", "ar"]],
		// One character is in too many texts.
		[/fo?o/, "zzz", ["fo?o"]],
		[/(?:foo|b)/, "zzz", ["(?:foo|b)"]],
		[/[a-z]+|\d/, "", ["[a-z]+", "\\d"]],
		// What need not be there is no literal.
		[/ab*cde/, "cde", ["ab*cde"]],
		[/ab*cde/, "ab", []],
		[/ab?cde/, "xcde", ["ab?cde"]],
		[/ab{0,2}cde/, "cde", ["ab{0,2}cde"]],
		[/ab{2}c/, "abb", ["ab{2}c"]],
		[/ab{2,}?c/, "abb", ["ab{2,}?c"]],
		[/ab+?cd+/, "xabx", ["ab+?cd+"]],
		[/ab{2}c/, "bb c", []],
		[/foo+bar/, "xfoo", ["foo+bar"]],
		[/foo+bar/, "bar", []],
		[/(?:foo)?bar/, "bar", ["(?:foo)?bar"]],
		[/(?:foo)?bar/, "foo", []],
		[/(?:foo)*?bar/, "foo", []],
		[/(?:foo){0,3}bar/, "foo", []],
		[/(?:foo)+/, "foo", ["(?:foo)+"]],
		[/(?:foo)+/, "fo", []],
		// Of a group, one of its alternatives.
		[/(foo)x/, "foo", ["(foo)x"]],
		[/(?:foo|quux)x?/, "quux", ["(?:foo|quux)x?"]],
		[/(?:foo|quux)x?/, "x", []],
		[/(?:foo|[a-z])bar/, "bar", ["(?:foo|[a-z])bar"]],
		[/(?:foo|[a-z])bar/, "foo", []],
		[/(?:a(?:bcd|efg)|hij)/, "hij", ["(?:a(?:bcd|efg)|hij)"]],
		[/(?:a(?:bcd|efg)|hij)/, "efg", ["(?:a(?:bcd|efg)|hij)"]],
		[/(?:a(?:bcd|efg)|hij)/, "a", []],
		[/x(?:foo|bar)longer|other/, "longer", ["x(?:foo|bar)longer"]],
		[/x(?:foo|bar)longer/, "foo", []],
		[/ab(?:cdef|ghij)/, "ghij", ["ab(?:cdef|ghij)"]],
		[/ab(?:cdef|ghij)/, "ab", []],
		[/(?:abc|def)xyz/, "xyz", ["(?:abc|def)xyz"]],
		[/(?:abc|def)xyz/, "abc", []],
		// Lookarounds may stand outside a match.
		[/(?=foo)ab/, "ab", ["(?=foo)ab"]],
		[/(?!foo)ab/, "ab", ["(?!foo)ab"]],
		[/(?<=foo)ab/, "ab", ["(?<=foo)ab"]],
		[/(?<!foo)ab/, "ab", ["(?<!foo)ab"]],
		[/(?!foo)ab/, "foo", []],
		// Escapes of signs stand for themselves; others are classes.
		[/a\.b/, "a.b", ["a\\.b"]],
		[/a\.b/, "ab", []],
		[/a\|b|cd/, "a|b", ["a\\|b"]],
		[/\bfoo\d/, "foo", ["\\bfoo\\d"]],
		[/foo\sbar baz/, "bar baz", ["foo\\sbar baz"]],
		[/foo\sbar baz/, "foo", []],
		[/\p{L}foo/u, "foo", ["\\p{L}foo"]],
		[/\p{Lu}foo/u, "foo", ["\\p{Lu}foo"]],
		[/ab{12}c/, "ab", ["ab{12}c"]],
		[/[ab|(\]]foo|cd/, "foo", ["[ab|(\\]]foo"]],
		[/a.bcd/, "bcd", ["a.bcd"]],
		[/^foo$/, "foo", ["^foo$"]],
		[/éfoo/, "foo", ["éfoo"]],
		[/fooébar!/, "bar!", ["fooébar!"]],
	])("of %s in %j", (pattern, text, expected) => {
		expect(listed([pattern], text)).toEqual(expected);
	});

	it("are each listed once for a text, and again for the next", () => {
		const find = indexPatterns([
			["one", /foo|(?:bar|baz)/i],
			["two", /\d|^quux/],
		]);
		const shown = (text: string) => find(text).map(({ kind, pattern, isAnchored }) => [kind, `${pattern}`, isAnchored]);
		const digit = ["two", "/\\d/", false];
		expect(shown("bar foo baz foo")).toEqual([digit, ["one", "/(?:bar|baz)/i", false], ["one", "/foo/i", false]]);
		expect(shown("quux")).toEqual([digit, ["two", "/^quux/", true]]);
		expect(shown("quux FOO")).toEqual([digit, ["two", "/^quux/", true], ["one", "/foo/i", false]]);
		expect(shown("none")).toEqual([digit]);
	});

	it("hold every one that matches", () => {
		const atom = fc.constantFrom(
			"ab",
			"a",
			"bc",
			"cab",
			"[ab]",
			".",
			"\\.",
			"\\w",
			"(?:ab|c)",
			"(b|cab)",
			"(?=a)",
			"^",
		);
		const quantifier = fc.constantFrom("", "", "", "?", "*", "+", "{2}", "{0,1}", "+?");
		const sequence = fc
			.array(fc.tuple(atom, quantifier), { minLength: 1, maxLength: 4 })
			.map((parts) => parts.map(([one, times]) => (/^(?:\^|\(\?=)/.test(one) ? one : one + times)).join(""));
		const source = fc.array(sequence, { minLength: 1, maxLength: 3 }).map((all) => all.join("|"));
		const text = fc.string({ unit: fc.constantFrom("a", "b", "c", "A", ".", " "), maxLength: 8 });
		const seen = { matching: 0, left: 0 };
		fc.assert(
			fc.property(fc.array(source, { minLength: 1, maxLength: 3 }), text, (sources, given) => {
				const found = listed(
					sources.map((one) => new RegExp(one, "i")),
					given,
				);
				const alternatives = sources.flatMap((one) => one.split(/\|(?![^(]*\))/));
				for (const one of alternatives) {
					const isMatching = new RegExp(one, "i").test(given);
					if (isMatching) expect(found).toContain(one);
					seen.matching += Number(isMatching);
					seen.left += Number(!found.includes(one));
				}
			}),
			{ numRuns: numberOfCases(2_000) },
		);
		expect(Math.min(seen.matching, seen.left)).toBeGreaterThan(numberOfCases(400));
	});
});
