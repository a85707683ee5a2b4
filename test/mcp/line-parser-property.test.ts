import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createLineParser } from "../../src/mcp/transports/stdio/create-line-parser.ts";

/** Mostly the usual, now and then one of others. */
function mostly(usual: string, ...others: readonly string[]): fc.Arbitrary<string> {
	return fc.oneof({ weight: 8, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(...others) });
}

const odd = fc.constantFrom(
	...[
		"-0",
		"1",
		"12",
		"1e5",
		"0.5",
		"true",
		"null",
		'""',
		'"\\\\"',
		'"]"',
		'"[\\""',
		'"\\u0041"',
		'"中🙂é"',
		"[]",
		"{}",
	],
	...[
		'{"__proto__":{"a":1}}',
		'{"messages":[1]}',
		'{"a":1,"a":2}',
		'{"2":1,"1":2}',
		'[["messages"]]',
		'"\\"messages\\":[1"',
	],
);
const value = fc.oneof(
	odd,
	fc.json({ maxDepth: 2 }),
	fc.string({ unit: "binary" }).map((text) => JSON.stringify({ role: "user", content: text })),
);

const line = fc.record({
	head: mostly(
		'{"params":{"arguments":{"messages":[',
		'{"id":"中","params":{"_meta":{"progressToken":1},"arguments":{"model":"x","messages": [',
		'{"params":{"arguments":{"messages":[1],"messages":[',
		'{"messages":[1],"params":{"arguments":{"messages":[',
		'{"params":{"arguments":{"messages" : [',
		'{"params":{"arguments":{"x\\"messages":[',
		'{"params":{"__proto__":{"messages":[],"arguments":{"messages":[',
		'{"params":{"arguments":{"messages":[[',
		'\ufeff{"params":{"arguments":{"messages":[',
	),
	tail: mostly(
		"]}}}",
		']},"name":"x"},"id":2}\r',
		'],"respond_with":"edits","tools":[{"messages":[1]}]}}}',
		'],"messages":[2]}}}',
		']},"arguments":{}}}',
		'],"__proto__":{"messages":[]}}}}',
		...["]]}}}}", "}}}", "]}}", "]}}}}", ""],
	),
	/** What stands between what was there before and what is new. */
	border: mostly(",", " , ", "\t,", ",\r", "", "5", "e1", ".5", ",,", ":", "]", '"', "x", "\u00a0,"),
	/** How many lines back is the one that this one goes on from. */
	back: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, fc.nat(3)),
	fresh: fc.array(value, { maxLength: 2 }),
	end: mostly("", " ", ",", "\t", "1"),
	/** Places where the line is cut into pieces, as parts of its length. */
	cuts: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 2 }),
});

/** All between the brackets of a list. */
function bodyAfter(before: string, { border, fresh, end }: { border: string; fresh: string[]; end: string }): string {
	const between = before !== "" && fresh.length > 0 ? border : "";
	return `${before}${between}${fresh.join(",")}${end}`;
}

function piecesOf(bytes: Buffer, cuts: readonly number[]): Buffer[] {
	const ends = [0, ...cuts.map((part) => Math.floor(part * bytes.length)).sort((a, b) => a - b), bytes.length];
	return ends.slice(1).map((end, at) => bytes.subarray(ends[at], end));
}

function outcomeOf(parse: () => unknown): { readonly value: unknown } | { readonly error: string } {
	try {
		return { value: parse() };
	} catch (error) {
		return { error: `${(error as Error).name}: ${(error as Error).message}` };
	}
}

describe("reading a line by what is known of those before", () => {
	it("gives what JSON.parse gives of the whole, or its error", () => {
		const count = { lines: 0, continued: 0, errors: 0 };
		fc.assert(
			fc.property(fc.array(fc.tuple(fc.nat(1), line), { maxLength: 20 }), (lines) => {
				const { parse, held } = createLineParser({ lines: 3, bytes: 2_000, shortest: 40, longest: 1_500 });
				// Of two conversations, the latest first.
				const bodies: [string[], string[]] = [[""], [""]];
				for (const [which, { head, tail, back, cuts, ...rest }] of lines) {
					const known = bodies[which as 0 | 1];
					const body = bodyAfter(known[back] ?? known[0] ?? "", rest);
					const bytes = Buffer.from(`${head}${body}${tail}`);
					const before = held();
					const got = outcomeOf(() => parse(piecesOf(bytes, cuts)));
					const expected = outcomeOf(() => JSON.parse(bytes.toString("utf8")));
					expect(got).toStrictEqual(expected);
					count.lines += 1;
					expect(held().bytes).toBeLessThanOrEqual(2_000);
					if ("error" in expected) {
						if (before.continued > 0) count.errors += 1;
						expect(held()).toEqual(before);
					} else {
						expect(JSON.stringify(got)).toBe(JSON.stringify(expected));
						known.unshift(body);
					}
				}
				count.continued += held().continued;
			}),
			{ numRuns: 3_000 },
		);
		expect(count.continued).toBeGreaterThan(2_000);
		expect(count.errors).toBeGreaterThan(400);
	});
});
