import { describe, expect, it } from "vitest";
import {
	applyEdits,
	editedPieces,
	invertEdits,
	type PortableEdit,
	spellingsOf,
	writeValues,
} from "../../../src/formats/json-text/edit.ts";
import { readTextDocument } from "../../../src/formats/json-text/read.ts";
import { sha256Of } from "../../../src/formats/json-text/value.ts";

const refusal = (code: string, words: string) =>
	expect.objectContaining({ code, message: expect.stringContaining(words) });

const replace = (path: string, before: unknown, replacement: unknown): PortableEdit => ({
	kind: "replace",
	path,
	sha256_before: sha256Of(before),
	replacement,
});

const remove = (path: string, before: unknown): PortableEdit => ({
	kind: "remove",
	path,
	sha256_before: sha256Of(before),
});

const insert = (path: string, beside: unknown, value: unknown): PortableEdit => ({
	kind: "insert",
	path,
	sha256_before: sha256Of(beside),
	value,
});

describe("arguments that are refused", () => {
	const good = replace("/0", 1, 2);

	it.each<[string, unknown, unknown, string]>([
		["a parsed conversation", [1], [good], "the text of `applyEdits`"],
		["one edit", "[1]", good, "the edits of `applyEdits`"],
		[
			"a bigint",
			"[1]",
			[{ ...good, replacement: 1n }],
			"the edits of `applyEdits` to be plain JSON; got a value that contains itself, a bigint",
		],
		["no edit", "[1]", [null], "Expected edits with `kind`"],
		["another kind", "[1]", [{ ...good, kind: "change" }], "Expected edits with `kind`"],
		["a removal without a path", "[1]", [{ ...remove("/0", 1), path: 0 }], "Expected edits with `kind`"],
		["a removal without a hash", "[1]", [{ kind: "remove", path: "/0" }], "Expected edits with `kind`"],
		["a replacement under another name", "[1]", [{ ...remove("/0", 1), kind: "replace", value: 2 }], "`replacement`"],
		["a new value under another name", "[1]", [{ ...good, kind: "insert" }], "`value` to insert"],
		["the same value twice", "[1]", [good, good], "do not overlap"],
		["a value within another", "[[1]]", [replace("/0", [1], 2), replace("/0/0", 1, 2)], "do not overlap"],
		["a value within a removed one", "[[1]]", [replace("/0/0", 1, 2), remove("/0", [1])], "do not overlap"],
		["a member removed", '{"a":1}', [remove("/a", 1)], '"/a" is not one'],
	])("%s", (_, text, edits, words) => {
		expect(() => applyEdits(text as string, edits as PortableEdit[])).toThrow(refusal("invalid_argument", words));
	});

	it("a text that is not JSON", () => {
		expect(() => applyEdits("[1", [])).toThrow(
			refusal("invalid_json", "Expected JSON; the text is not valid at line 1"),
		);
	});

	it("an answer that is not plain JSON", () => {
		expect(() => invertEdits({ text: 1n } as never)).toThrow(refusal("invalid_argument", "argument of `invertEdits`"));
		for (const answer of [null, undefined, { text: "x", inverse: { sha256_after: "x" } }, { text: 1, inverse: {} }]) {
			expect(() => invertEdits(answer as never)).toThrow(
				refusal("invalid_argument", "Expected the result of `applyEdits`"),
			);
		}
		const inverse = { sha256_after: sha256Of("x"), splices: [] };
		expect(() => invertEdits({ text: 1, inverse } as never)).toThrow(
			refusal("invalid_argument", "Expected the result"),
		);
		expect(() => invertEdits({ text: "x", inverse: { ...inverse, splices: {} } } as never)).toThrow(
			refusal("invalid_argument", "Expected the result"),
		);
		expect(() => invertEdits({ text: "x", inverse: { ...inverse, sha256_after: 1 } } as never)).toThrow(
			refusal("invalid_argument", "Expected the result"),
		);
	});

	it("edits of another text, with their places shortened", () => {
		expect(() => applyEdits("[1]", [replace("/0", 2, 3)])).toThrow(
			refusal("stale_edit", 'Another value than the edit was made for is at "/0"'),
		);
		expect(() => applyEdits("[1]", [replace("/1", 2, 3)])).toThrow(refusal("stale_edit", 'Nothing is at "/1"'));
		expect(() => applyEdits("[1]", [replace("/1", undefined, 3)])).toThrow(refusal("stale_edit", 'Nothing is at "/1"'));
		for (const [length, shown] of [
			[199, `"/${"x".repeat(199)}"`],
			[200, `"/${"x".repeat(199)}…"`],
		] as const) {
			expect(() => applyEdits("[1]", [replace(`/${"x".repeat(length)}`, 2, 3)])).toThrow(refusal("stale_edit", shown));
		}
	});
});

describe("splices of an answer", () => {
	const invert = (text: string, splices: readonly unknown[]) =>
		invertEdits({ text, inverse: { sha256_after: sha256Of(text), splices: splices as never } });

	it("may be empty, touch each other, and reach from the start to the end", () => {
		const at = (start: number, end: number, replacement = "x") => ({ start, end, replacement });
		expect(invert("abc", [])).toBe("abc");
		expect(invert("abc", [at(0, 3)])).toBe("x");
		expect(invert("abc", [at(0, 0), at(0, 1, ""), at(1, 1), at(3, 3)])).toBe("xxbcx");
		for (const splices of [
			[at(0, 4)],
			[at(2, 1)],
			[at(-1, 1)],
			[at(1, 2), at(1, 2)],
			[{ ...at(0, 1), end: 0.5 }],
			[{ ...at(0, 1), start: "0" }],
			[{ ...at(0, 1), replacement: 1 }],
			[{ start: 0, replacement: "x" }],
			[{ end: 0, replacement: "x" }],
			[undefined],
		]) {
			expect(() => invert("abc", splices)).toThrow(refusal("invalid_argument", "Expected the result of `applyEdits`"));
		}
	});

	it("hold the places in the edited text", () => {
		const edited = applyEdits('["long", 2, {"a": 3}]', [
			replace("/0", "long", 1),
			remove("/1", 2),
			replace("/2/a", 3, "longer"),
		]);
		expect(edited.text).toBe('[1, {"a": "longer"}]');
		expect(edited.inverse).toEqual({
			sha256_after: sha256Of(edited.text),
			splices: [
				{ start: 1, end: 2, replacement: '"long"' },
				{ start: 4, end: 4, replacement: "2, " },
				{ start: 10, end: 18, replacement: "3" },
			],
		});
		expect(invertEdits(edited)).toBe('["long", 2, {"a": 3}]');
	});
});

describe("items of a list", () => {
	it.each<[string, string, PortableEdit[], string]>([
		["the first", "[1, 2, 3]", [remove("/0", 1)], "[2, 3]"],
		["one in the middle", "[1, 2, 3]", [remove("/1", 2)], "[1, 3]"],
		["the last", "[1, 2, 3 ]", [remove("/2", 3)], "[1, 2 ]"],
		["several in a row", "[1, 2, 3, 4]", [remove("/1", 2), remove("/2", 3)], "[1, 4]"],
		["several apart", "[1, 2, 3, 4]", [remove("/0", 1), remove("/2", 3)], "[2, 4]"],
		["the last two", "[1, 2, 3]", [remove("/2", 3), remove("/1", 2)], "[1]"],
		["all of them", "[ 1, 2 ]", [remove("/0", 1), remove("/1", 2)], "[  ]"],
		["the only one", "[1]", [remove("/0", 1)], "[]"],
		["one within another that stays", "[[1, 2], 3]", [remove("/0/0", 1), remove("/1", 3)], "[[2]]"],
	])("are removed: %s", (_, text, edits, expected) => {
		const edited = applyEdits(text, edits);
		expect(edited.text).toBe(expected);
		expect(invertEdits(edited)).toBe(text);
	});

	it.each<[string, string, PortableEdit[], string]>([
		["before the first", "[1, 2]", [insert("/0", 1, 0)], "[0,1, 2]"],
		["after the last", "[1, 2 ]", [insert("/2", 2, 3)], "[1, 2,3 ]"],
		["two at a place", "[1, 2]", [insert("/1", 2, "a"), insert("/1", 2, "b")], '[1, "a","b",2]'],
		["two after the last", "[1]", [insert("/1", 1, 2), insert("/1", 1, 3)], "[1,2,3]"],
		["into an empty list", '{"a": [ ]}', [insert("/a/0", [], 1), insert("/a/0", [], 2)], '{"a": [1,2 ]}'],
		["in place of all", "[ 1, 2 ]", [remove("/0", 1), remove("/1", 2), insert("/1", 2, 3)], "[ 3 ]"],
		["before removed ones", "[1, 2, 3]", [remove("/0", 1), remove("/1", 2), insert("/0", 1, 0)], "[0,3]"],
		["after a removed last", "[1, 2]", [remove("/1", 2), insert("/2", 2, 3)], "[1,3]"],
		["next to a replaced one", "[1, 2]", [replace("/0", 1, "one"), insert("/0", 1, 0)], '[0,"one", 2]'],
		["into a list within the list", "[[1], 2]", [insert("/0/1", 1, 9), insert("/2", 2, 3)], "[[1,9], 2,3]"],
	])("are inserted: %s", (_, text, edits, expected) => {
		const edited = applyEdits(text, edits);
		expect(edited.text).toBe(expected);
		expect(invertEdits(edited)).toBe(text);
	});
});

describe("records", () => {
	const text = '{"n":1}\n{"n":2}\n{"n":3}\n';
	const [one, two, three] = [{ n: 1 }, { n: 2 }, { n: 3 }];

	it.each<[string, string, PortableEdit[], string]>([
		["the first", text, [remove("/0", one)], '{"n":2}\n{"n":3}\n'],
		["the last", text, [remove("/2", three)], '{"n":1}\n{"n":2}\n'],
		["all", text, [remove("/0", one), remove("/1", two), remove("/2", three)], "\n"],
		["the second of a line", '{"n":1} {"n":2}\n{"n":3}\n', [remove("/1", two)], '{"n":1}\n{"n":3}\n'],
		["the first of a line", '{"n":1} {"n":2}\n{"n":3}\n', [remove("/0", one)], '{"n":2}\n{"n":3}\n'],
		["after a blank line", '{"n":1}\n\n{"n":2}\n{"n":3}\n', [remove("/1", two)], '{"n":1}\n\n{"n":3}\n'],
		["one put in front", text, [insert("/0", one, 0)], '0\n{"n":1}\n{"n":2}\n{"n":3}\n'],
		["two put after it", text, [insert("/3", three, 4), insert("/3", three, 5)], `${text.trimEnd()}\n4\n5\n`],
		[
			"one in place of all",
			text,
			[remove("/0", one), remove("/1", two), remove("/2", three), insert("/3", three, 4)],
			"4\n",
		],
		["a value in one", text, [replace("/1/n", 2, "two")], '{"n":1}\n{"n":"two"}\n{"n":3}\n'],
		["a whole one", text, [replace("/1", two, 2)], '{"n":1}\n2\n{"n":3}\n'],
	])("are edited: %s", (_, before, edits, after) => {
		const edited = applyEdits(before, edits);
		expect(edited.text).toBe(after);
		expect(invertEdits(edited)).toBe(before);
	});

	it("that are a list in a text are not records", () => {
		expect(applyEdits('[{"n":1} ,\n{"n":2} ,{"n":3}]', [remove("/1", two)]).text).toBe('[{"n":1} ,\n{"n":3}]');
		expect(applyEdits("[[1,2],[3]]", [remove("/0/1", 2), insert("/1/1", 3, 4)]).text).toBe("[[1],[3,4]]");
		expect(applyEdits('{"a":[1]}\n{"a":[2]}\n', [insert("/1/a/1", 2, 3)]).text).toBe('{"a":[1]}\n{"a":[2,3]}\n');
	});
});

it("values without a place in the text are not written", () => {
	const document = readTextDocument('{"a": 1}', "the text");
	const edit = { kind: "replace", path: ["b"], replacement: 1 } as const;
	expect(() => writeValues(document, [edit])).toThrow(refusal("invalid_argument", "that are in the text"));
});

describe("the pieces of an edited text", () => {
	const piece = 1 << 16;
	const piecesOf = (text: string) =>
		[...editedPieces(readTextDocument(JSON.stringify(text), "the text"), [])].map(({ length }) => length);

	it("are as large as they may be, and one shorter where a pair would be split", () => {
		// A quote stands before and behind the text.
		expect(piecesOf("x".repeat(piece - 2))).toEqual([piece]);
		expect(piecesOf("x".repeat(piece - 1))).toEqual([piece, 1]);
		expect(piecesOf(`${"x".repeat(piece - 2)}🦊`)).toEqual([piece - 1, 3]);
		expect(piecesOf(`${"x".repeat(piece - 3)}🦊`)).toEqual([piece, 1]);
		expect(piecesOf(`x${"🦊".repeat(piece)}`)).toEqual([piece, piece, 3]);
		expect(piecesOf("🦊".repeat(piece))).toEqual([piece - 1, piece, 3]);
	});
});

describe("the spelling of values", () => {
	it("is kept for values that are present and not compact", () => {
		const document = readTextDocument('{"a": [1,  2], "b": [1,2]}', "it");
		const [spaced, compact, missing] = [["a"], ["b"], ["c"]];
		expect([...spellingsOf(document, [spaced, compact, missing])]).toEqual([[spaced, "[1,  2]"]]);
	});
});
