import { fc, test } from "@fast-check/vitest";
import { afterAll, describe, expect, it } from "vitest";
import { matchValues } from "../../../src/engine/compaction/match-values.ts";

const match = (before: string, after: string) => [...matchValues([...before], [...after])];

describe("matchValues", () => {
	it("finds what is left when values are taken out, put in and replaced", () => {
		expect(match("abcdef", "abcdef")).toEqual([0, 1, 2, 3, 4, 5]);
		expect(match("abcdef", "aef")).toEqual([0, 4, 5]);
		expect(match("abcdef", "abXcdef")).toEqual([0, 1, -1, 2, 3, 4, 5]);
		expect(match("abcdef", "SXeYf")).toEqual([-1, -1, 4, -1, 5]);
		expect(match("abc", "")).toEqual([]);
		expect(match("", "abc")).toEqual([-1, -1, -1]);
	});

	it("of values that were swapped one stays", () => {
		expect(match("abcdef", "bacdef").filter((one) => one === -1).length).toBe(1);
		expect(match("abcdef", "fabcde")).toEqual([-1, 0, 1, 2, 3, 4]);
	});

	it("matches values that occur again by what stands around them", () => {
		expect(match("xaxbxc", "axbxc")).toEqual([1, 2, 3, 4, 5]);
		expect(match("xaxbxc", "xbxc")).toEqual([0, 3, 4, 5]);
		expect(match("xyxyxy", "Sxyxy")).toEqual([-1, 2, 3, 4, 5]);
		expect(match("xxyxx", "yyxxy")).toEqual([2, -1, 3, 4, -1]);
	});

	const count = { kept: 0, fresh: 0, all: 0 };
	const keys = fc.array(fc.constantFrom(..."abcdefghijklmno"), { minLength: 5, maxLength: 40, size: "max" });

	test.prop([keys, keys], { numRuns: 500 })("matches only equal values, in order", (before, after) => {
		const matches = matchValues(before, after);
		expect(matches.length).toBe(after.length);
		let latest = -1;
		matches.forEach((found, index) => {
			if (found === -1) {
				count.fresh += 1;
				return;
			}
			expect(before[found]).toBe(after[index]);
			expect(found).toBeGreaterThan(latest);
			latest = found;
			count.kept += 1;
		});
	});

	test.prop([fc.uniqueArray(fc.integer(), { maxLength: 60 }), fc.func(fc.boolean())], { numRuns: 300 })(
		"finds all of what was left of different values",
		(values, stays) => {
			const before = values.map(String);
			const left = before.filter((value) => stays(value));
			const after = left.flatMap((value) => ["new", value]);
			expect([...matchValues(before, after)].filter((one) => one !== -1).length).toBe(left.length);
			count.all += 1;
		},
	);

	afterAll(() => {
		expect(count.kept).toBeGreaterThan(1_000);
		expect(count.fresh).toBeGreaterThan(1_000);
		expect(count.all).toBe(300);
	});

	/** Reads of the lists, which stand for the time that matching takes. */
	function reads(before: readonly string[], after: readonly string[]): number {
		let counted = 0;
		const watch = (list: readonly string[]) =>
			new Proxy(list, {
				get(target, key) {
					if (typeof key === "string" && /^\d+$/.test(key)) counted += 1;
					return Reflect.get(target, key);
				},
			});
		matchValues(watch(before), watch(after));
		return counted;
	}

	const many = 10_000;
	const different = Array.from({ length: many }, (_, index) => `message ${index}`);
	const two = different.map((_, index) => (index % 2 === 0 ? "continue" : "ok"));
	/** Each value but every 100th occurs again, so that few tell where they belong. */
	const repetitive = different.map((value, index) => (index % 100 === 0 ? value : `again ${index % 7}`));
	it.each([
		["different values, every third dropped", different, different.filter((_, index) => index % 3 !== 0)],
		["different values, all replaced", different, different.map((value) => `${value}, hidden`)],
		["different values, reversed", different, different.toReversed()],
		["two values, over and over, in another order", two, ["ok", "ok", ...two.slice(1_000), "continue", "continue"]],
		[
			"two values, a few new ones among them",
			two,
			two.flatMap((one, index) => (index % 50 === 0 ? ["new", one] : [one])),
		],
		["mostly repeated values, shifted", repetitive, repetitive.slice(3, -3).toReversed()],
	])("10 000 messages in linear time: %s", (_, before, after) => {
		expect(reads(before, after)).toBeLessThan(40 * (before.length + after.length));
	});
});
