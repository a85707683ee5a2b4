import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
	endOfString,
	jsonSpans,
	jsonStringEdge,
	jsonStringEdgeAfter,
	valueKinds,
} from "../../../src/engine/truncation/json-spans.ts";
import { numberOfCases } from "../../support/case-divisor.ts";

const kinds = Object.keys(valueKinds);

/** Each value as its kind, its key, its text, its size and the value after it. */
const spansOf = (text: string, isLines = false) => {
	const spans = jsonSpans(text, { isLines });
	return spans?.kind.map((kind, value) => {
		const [start = 0, end = 0, keyStart = 0, keyEnd = 0] = [spans.start, spans.end, spans.keyStart, spans.keyEnd].map(
			(places) => places[value],
		);
		return `${kinds[kind]} ${text.slice(keyStart, keyEnd)} ${text.slice(start, end)} ${spans.size[value]} ${spans.next[value]}`;
	});
};

describe("jsonSpans", () => {
	it.each<[string, readonly string[]]>([
		["7", ["other  7 1 1"]],
		[' "a" ', ['string  "a" 3 1']],
		["[]", ["array  [] 2 1"]],
		["{ }", ["object  { } 2 1"]],
		["[1, true,null ]", ["array  [1, true,null ] 13 4", "other  1 1 2", "other  true 4 3", "other  null 4 4"]],
		[
			'{"a" : {"b": "c:d"}, "e":[-1.5e3]}',
			[
				'object  {"a" : {"b": "c:d"}, "e":[-1.5e3]} 30 5',
				'object "a" {"b": "c:d"} 11 3',
				'string "b" "c:d" 5 3',
				'array "e" [-1.5e3] 8 5',
				"other  -1.5e3 6 5",
			],
		],
		['["a":1]', ['array  ["a":1] 8 3', 'string  "a" 3 2', "other  :1 2 3"]],
		['{"a\\"b":"\\\\"}', ['object  {"a\\"b":"\\\\"} 13 2', 'string "a\\"b" "\\\\" 4 2']],
	])("%j", (text, values) => {
		expect(spansOf(text)).toEqual(values);
	});

	it("finds the values that a parser finds, with their keys, their ends and their compact sizes", () => {
		/** Every value with its key, in the order of the text. */
		const plain = (value: unknown, key?: string): [string | undefined, unknown][] => {
			const members: [string | undefined, unknown][] = Array.isArray(value)
				? value.map((one) => [undefined, one])
				: Object.entries(value !== null && typeof value === "object" ? value : {});
			return [[key, value], ...members.flatMap(([name, one]) => plain(one, name))];
		};
		const seen = { values: 0 };
		fc.assert(
			fc.property(fc.jsonValue({ maxDepth: 4 }), fc.constantFrom(0, 1, 4, "\t"), (value, indent) => {
				const text = JSON.stringify(value, null, indent);
				const spans = jsonSpans(text, { isLines: false });
				const found = spans?.start.map((start, at) => {
					const key = text.slice(spans.keyStart[at], spans.keyEnd[at]);
					return [key === "" ? undefined : JSON.parse(key), JSON.parse(text.slice(start, spans.end[at]))];
				});
				const expected = plain(JSON.parse(text));
				expect(found).toEqual(expected);
				expect(spans?.size).toEqual(expected.map(([, one]) => JSON.stringify(one).length));
				expect(spans?.next).toEqual(expected.map(([, one], at) => at + plain(one).length));
				seen.values += expected.length;
			}),
			{ numRuns: numberOfCases(1_000) },
		);
		expect(seen.values).toBeGreaterThan(numberOfCases(3_000));
	});

	it("has the lines of JSON Lines as one list without brackets", () => {
		expect(spansOf('{"a":1}\n[2]\n', true)).toEqual([
			'lines  {"a":1}\n[2]\n 11 5',
			'object  {"a":1} 7 3',
			'other "a" 1 1 3',
			"array  [2] 3 5",
			"other  2 1 5",
		]);
	});
});

describe("endOfString", () => {
	it.each([
		['"a"', 0, 3],
		['x"a"y', 1, 4],
		['"a\\"b"c', 0, 6],
		['"a\\\\"b"', 0, 5],
		['"a\\\\\\"b"', 0, 8],
		['"a', 0, 2],
		['""', 0, 2],
	])("%j from %i is %i", (text, start, end) => {
		expect(endOfString(text, start)).toBe(end);
	});
});

describe("where the inside of a JSON string can be cut", () => {
	const escapes = 'ab\\n\\u00e9\\ud83e\\udd8a\\\\\\"z';
	// a b \n \u00e9 \ud83e\udd8a \\ \" z
	const edges = [0, 1, 2, 2, 4, 4, 4, 4, 4, 4, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 22, 22, 24, 24, 26, 27];

	it("before an escape or a character", () => {
		expect(edges.map((_, end) => jsonStringEdge(escapes, 0, end))).toEqual(edges);
		expect(jsonStringEdge("a🦊", 0, 2)).toBe(1);
		expect(jsonStringEdge("e\u0301x", 0, 1)).toBe(0);
	});

	it("after an escape or a character", () => {
		const after = edges.map((_, from) => jsonStringEdgeAfter(escapes, 0, from, escapes.length));
		expect(after).toEqual(
			edges.map((edge, at) => (edge === at ? at : edges.find((one, place) => place > at && one === place))),
		);
		expect(jsonStringEdgeAfter("a🦊b", 0, 2, 4)).toBe(3);
		expect(jsonStringEdgeAfter("a🦊b", 0, 4, 4)).toBe(4);
		const marks = `xa${"\u0301".repeat(60)}b`;
		expect(jsonStringEdgeAfter(marks, 0, 2, marks.length)).toBe(62);
		expect(jsonStringEdgeAfter(marks, 0, 2, 30)).toBe(30);
	});

	it("at the edges of random characters and escapes, in both directions", () => {
		const token = fc.constantFrom("a", "u", "\\n", "\\\\", '\\"', "\\u00e9", "\\ud83e\\udd8a", "\\ud83e", "🦊", "é");
		fc.assert(
			fc.property(fc.array(token, { minLength: 1, maxLength: 30 }), (tokens) => {
				// The escapes of a pair are one character, also where they are two tokens.
				const joined = tokens.join("").match(/\\ud83e\\udd8a|\\u[0-9a-f]{4}|\\.|🦊|./gu) ?? [];
				const text = joined.join("");
				const edges = [0];
				for (const one of joined) edges.push((edges.at(-1) as number) + one.length);
				for (let at = 0; at <= text.length; at += 1) {
					expect(jsonStringEdge(text, 0, at)).toBe(edges.findLast((edge) => edge <= at));
					expect(jsonStringEdgeAfter(text, 0, at, text.length)).toBe(edges.find((edge) => edge >= at));
				}
			}),
			{ numRuns: numberOfCases(500) },
		);
	});

	it("not before the start of the search", () => {
		expect(jsonStringEdge("\\\\nab", 1, 2)).toBe(1);
		expect(jsonStringEdge("\\\\nab", 1, 3)).toBe(3);
		expect(jsonStringEdge(`\\n${"a".repeat(30)}`, 0, 20)).toBe(20);
	});

	it.each([
		["\\ud83e\\udd8a", 12],
		["\\uD83E\\uDD8A", 12],
		["\\ud83ex\\udd8", 6],
		["\\ud83e\\u0041", 6],
		["\\ud73e\\udd8a", 6],
		["\\ud83e\\ud88a", 6],
		["\\u0041\\udd8a", 6],
		["\\t", 2],
	])("%j is one of %i characters", (text, length) => {
		expect(jsonStringEdgeAfter(`${text}zzzzzz`, 0, 1, 30)).toBe(length);
	});
});
