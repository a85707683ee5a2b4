import { fc, test } from "@fast-check/vitest";
import { afterAll, describe, expect, it } from "vitest";
import { leastOfCases, numberOfCases } from "../../support/case-divisor.ts";
import { shorten } from "./shorten.ts";

const seen = { cut: 0, pretty: 0, lines: 0, marked: 0 };
/** Every string, number and word of a JSON text as it is spelled. */
const tokensOf = (json: string) => json.match(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null/g) ?? [];

const values = fc
	.jsonValue({ maxDepth: 5, stringUnit: "grapheme" })
	.filter((value) => JSON.stringify(value).length > 40);
const large = fc
	.tuple(
		fc.array(values, { minLength: 1, maxLength: 40 }),
		fc.boolean(),
		fc.string({ unit: "grapheme", maxLength: 3_000 }),
	)
	.map(([items, inObject, long]) =>
		inObject ? { items, long, big: 12345678901234567890n.toString(), "a/b": items[0] } : items,
	);

test.prop([large, fc.integer({ min: 2, max: 1_500 }), fc.constantFrom(undefined, 1, "\t")], {
	numRuns: numberOfCases(800),
})("JSON stays JSON within any budget", (value, max, indent) => {
	const text = JSON.stringify(value, null, indent);
	const cut = shorten(text, max);
	if (text.length <= max) return;
	expect(cut.strategy).toBe("json");
	expect(cut.text.length).toBeLessThanOrEqual(max);
	const read = JSON.parse(cut.text);
	expect(Array.isArray(read)).toBe(Array.isArray(value));
	// What is kept whole is spelled as it was; the rest are marks, and strings that were cut.
	const spelled = new Set(tokensOf(text));
	const added = tokensOf(cut.text).filter((token) => !spelled.has(token));
	for (const token of added) expect(token, "a mark or a cut string").toMatch(/_truncated|left out|characters/);
	seen.cut += 1;
	seen.pretty += indent === undefined ? 0 : 1;
	seen.marked += cut.notices.length > 0 ? 1 : 0;
});

test.prop([fc.array(values, { minLength: 12, maxLength: 60 }), fc.integer({ min: 40, max: 900 })], {
	numRuns: numberOfCases(300),
})("JSON Lines stay JSON Lines", (items, max) => {
	const text = items.map((item) => JSON.stringify({ item })).join("\n");
	const cut = shorten(text, max);
	if (text.length <= max) return;
	for (const line of cut.text.split("\n")) expect(() => JSON.parse(line)).not.toThrow();
	expect(cut.text.length).toBeLessThanOrEqual(max);
	seen.lines += 1;
});

describe("a long list", () => {
	const text = JSON.stringify({
		total: 12345678901234567890n.toString(),
		id: 0,
		items: Array.from({ length: 500 }, (_, id) => ({ id, name: `item ${id}` })),
	}).replace('"id":0', '"id":12345678901234567890');

	it("becomes its first and last items and a count, under a notice on how to read the original", () => {
		const { text: cut } = shorten(text, 1_000);
		const read = JSON.parse(cut);
		expect(Object.keys(read)[0]).toBe("_truncated");
		expect(read._truncated).toContain("recall_original");
		expect(read.items.at(0)).toEqual({ id: 0, name: "item 0" });
		expect(read.items.at(-1)).toEqual({ id: 499, name: "item 499" });
		const mark = read.items.find((item: object) => "_truncated" in item);
		const left = Number(/^(\d+) of 500/.exec(mark._truncated)?.[1]);
		expect(left + read.items.length - 1).toBe(500);
	});

	it("keeps integers beyond 2^53 digit by digit", () => {
		expect(shorten(text, 1_000).text).toContain('"id":12345678901234567890');
	});

	it("keeps the items named by the focus", () => {
		expect(shorten(text, 1_000, { focus: '{"query":"item 321"}' }).text).toContain('"name":"item 321"');
	});

	it("is found after the heading of a command's output, which stays", () => {
		const { text: cut, strategy } = shorten(`Exit code: 0\nOutput:\n${text}\n`, 1_000);
		expect(strategy).toBe("json");
		expect(cut.startsWith("Exit code: 0\nOutput:\n{")).toBe(true);
		expect(() => JSON.parse(cut.slice(21))).not.toThrow();
	});

	it("does not mistake a key of the data for its own mark", () => {
		const own = JSON.stringify({ _truncated: "mine", list: Array.from({ length: 900 }, (_, index) => index) });
		const read = JSON.parse(shorten(own, 1_000).text);
		expect(read._truncated).toBe("mine");
		expect(Object.keys(read)).toContain("__truncated");
	});
});

afterAll(() => {
	expect(seen.cut).toBeGreaterThan(leastOfCases(150));
	expect(seen.pretty).toBeGreaterThan(leastOfCases(75));
	expect(seen.marked).toBeGreaterThan(leastOfCases(75));
	expect(seen.lines).toBeGreaterThan(leastOfCases(50));
});
