import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { editedPieces, spellingsOf, writeEdits, writeValues } from "../../../src/formats/json-text/edit.ts";
import { readTextDocument } from "../../../src/formats/json-text/read.ts";
import { sha256Of } from "../../../src/formats/json-text/value.ts";
import { applyEdits, guard, invertEdits, mask, type PortableEdit } from "../../../src/index.ts";
import { agentConversation, secret } from "../../support/agent-conversation.ts";

const text = '{"n": 9007199254740993, "a": ["one", {"b": "two"}], "o": {"k": 1.0e5}}';
const hashOf = (value: string) => createHash("sha256").update(value).digest("hex");
const replaceOne: PortableEdit = { kind: "replace", path: "/a/0", sha256_before: hashOf("one"), replacement: "1" };
const removeSecond: PortableEdit = { kind: "remove", path: "/a/1", sha256_before: hashOf('{"b":"two"}') };

describe("applyEdits", () => {
	it("changes nothing but the edited values", () => {
		const edited = applyEdits(text, [removeSecond, replaceOne]);
		expect(edited.text).toBe('{"n": 9007199254740993, "a": ["1"], "o": {"k": 1.0e5}}');
		expect(invertEdits(edited)).toBe(text);
	});

	it("leaves the text unchanged without edits", () => {
		expect(applyEdits(text, []).text).toBe(text);
		expect(invertEdits(applyEdits(text, []))).toBe(text);
	});

	it("replaces the complete value, but not the text around it", () => {
		const whole = { kind: "replace", path: "", sha256_before: hashOf("[1]"), replacement: { all: 1 } } as const;
		expect(applyEdits("\uFEFF [1]\r\n", [whole]).text).toBe('\uFEFF {"all":1}\r\n');
	});

	it.each<[string, PortableEdit[]]>([
		["a text that has changed since", [{ ...replaceOne, sha256_before: hashOf("other") }]],
		["a missing member", [{ ...replaceOne, path: "/c" }]],
		["an item past the end of its list", [{ ...removeSecond, path: "/a/2" }]],
		["an item named by no number", [{ ...replaceOne, path: "/a/00" }]],
		["a list's own length", [{ ...replaceOne, path: "/a/length" }]],
		["an inherited member", [{ ...replaceOne, path: "/o/constructor" }]],
		["a path without its slash", [{ ...replaceOne, path: "a/0" }]],
		["a path into a text", [{ ...replaceOne, path: "/a/0/0" }]],
		["one good edit next to a stale one", [removeSecond, { ...replaceOne, sha256_before: "" }]],
	])("refuses as stale: %s", (_what, edits) => {
		expect(() => applyEdits(text, edits)).toThrow(expect.objectContaining({ code: "stale_edit" }));
	});

	it.each<[string, unknown[]]>([
		["the same value twice", [replaceOne, replaceOne]],
		[
			"a value inside another",
			[
				{ ...removeSecond, path: "/a", sha256_before: hashOf('["one",{"b":"two"}]'), kind: "replace", replacement: [] },
				replaceOne,
			],
		],
		["a member removed from an object", [{ kind: "remove", path: "/o/k", sha256_before: hashOf("100000") }]],
		[
			"the complete value removed",
			[
				{
					kind: "remove",
					path: "",
					sha256_before: hashOf('{"n":9007199254740992,"a":["one",{"b":"two"}],"o":{"k":100000}}'),
				},
			],
		],
		["an unknown kind", [{ ...replaceOne, kind: "insert" }]],
		["nothing to replace by", [{ ...replaceOne, replacement: undefined }]],
		["no path", [{ kind: "remove" }]],
	])("refuses as no edits of this text: %s", (_what, edits) => {
		const apply = () => applyEdits(text, edits as PortableEdit[]);
		expect(apply).toThrow(expect.objectContaining({ code: "invalid_argument" }));
	});

	it("refuses invalid JSON, without quoting it", () => {
		const apply = () => applyEdits(`{"a": ${secret}}`, [replaceOne]);
		expect(apply).toThrow(expect.objectContaining({ code: "invalid_json" }));
		expect(apply).not.toThrow(secret);
	});
});

describe("invertEdits", () => {
	it("refuses a text that has changed since", () => {
		const { text: edited, inverse } = applyEdits(text, [replaceOne]);
		const invert = () => invertEdits({ text: `${edited} `, inverse });
		expect(invert).toThrow(expect.objectContaining({ code: "stale_edit" }));
	});
});

describe("invertEdits of an altered answer", () => {
	const { text: edited, inverse } = applyEdits(text, [replaceOne]);
	const [splice] = inverse.splices;

	it.each<[string, unknown[]]>([
		["a place before the text", [{ ...splice, start: -1 }]],
		["a place after the text", [{ ...splice, start: 900, end: 901 }]],
		["an end before the start", [{ ...splice, start: 5, end: 4 }]],
		["a place between characters", [{ ...splice, start: 0.5 }]],
		[
			"splices in another order",
			[
				{ ...splice, start: 8, end: 9 },
				{ ...splice, start: 2, end: 3 },
			],
		],
		["no replacement", [{ start: 1, end: 2 }]],
		["no splice", [null]],
	])("refuses %s", (_, splices) => {
		const invert = () => invertEdits({ text: edited, inverse: { ...inverse, splices: splices as never } });
		expect(invert).toThrow(expect.objectContaining({ code: "invalid_argument" }));
	});

	it("refuses an answer that is not from applyEdits", () => {
		for (const other of [{}, { text: edited }, { text: edited, inverse: { sha256_after: "" } }, { inverse }]) {
			expect(() => invertEdits(other as never)).toThrow(expect.objectContaining({ code: "invalid_argument" }));
		}
	});
});

describe("spellings", () => {
	it("of values that are not compact JSON are kept, in JSON and in JSON Lines", () => {
		const spelled = (source: string, paths: (string | number)[][]) =>
			[...spellingsOf(readTextDocument(source, "the text"), paths)].map(([path, spelling]) => [
				path.join("/"),
				spelling,
			]);
		expect(spelled('{"a": 1.0, "b": 1, "c": [ 1]}', [["a"], ["b"], ["c"], ["d"]])).toEqual([
			["a", "1.0"],
			["c", "[ 1]"],
		]);
		expect(
			spelled('{"a": 1.0}\n{"a": 2.50}\n', [
				[1, "a"],
				[0, "a"],
				[2, "a"],
			]),
		).toEqual([
			["1/a", "2.50"],
			["0/a", "1.0"],
		]);
	});

	it("are written again", () => {
		const document = readTextDocument('{"a": 1}\n{"a": 2}\n', "the text");
		const edits = [
			{ kind: "replace", path: [1, "a"], replacement: 3, spelling: "3.0" },
			{ kind: "replace", path: [0, "a"], replacement: 4 },
		] as const;
		expect(writeValues(document, edits)).toBe('{"a": 4}\n{"a": 3.0}\n');
	});
});

describe("`__proto__` and `constructor`", () => {
	const hostile = '{"__proto__": {"x": "old"}, "constructor": {"prototype": ["old"]}, "a": {"__proto__": "old"}}';

	it("are keys like any other", () => {
		const paths = ["/__proto__/x", "/constructor/prototype/0", "/a/__proto__"];
		const edits = paths.map(
			(path) => ({ kind: "replace", path, sha256_before: hashOf("old"), replacement: "new" }) as const,
		);
		const edited = applyEdits(hostile, edits);
		expect(edited.text).toBe(hostile.replaceAll("old", "new"));
		expect(invertEdits(edited)).toBe(hostile);
		expect(Object.prototype).not.toHaveProperty("x");
	});

	it("stay data in a replacement", () => {
		const replacement = JSON.parse('{"__proto__": 1}');
		const edit = { kind: "replace", path: "/a", sha256_before: hashOf('{"__proto__":"old"}'), replacement } as const;
		expect(applyEdits(hostile, [edit]).text).toBe(hostile.replace('{"__proto__": "old"}', '{"__proto__":1}'));
	});
});

describe("edits made from a parsed copy", () => {
	// What parsing and writing anew would not keep.
	const spelledOut = JSON.stringify(agentConversation(10), null, "\t")
		.replaceAll("Read it all.", "Read \\u0069t \\/ all.")
		.replace('"role"', '"id": 9007199254740993, "temperature": 1.0e0, "role"');

	it.each([
		["a list", spelledOut],
		[
			"a request body with a repeated key",
			`{"messages": [], "model": "gpt-4o", "messages": ${spelledOut}, "seed": -0}`,
		],
		["CRLF and a byte order mark", `\uFEFF${spelledOut.replaceAll("\n", "\r\n")}\r\n`],
	])("apply to the text: %s", async (_what, source) => {
		const conversation = JSON.parse(source.replace(/^\uFEFF/, ""));
		const masked = await mask(conversation, { policy: { mask: { window_turns: 3 } } });
		const guarded = await guard(conversation, { contextWindow: 3_000, reserveTokens: 500 });
		for (const { edits, conversation: after } of [masked, guarded]) {
			expect(edits.length).toBeGreaterThan(3);
			const edited = applyEdits(source, edits);
			expect(JSON.parse(edited.text.replace(/^\uFEFF/, ""))).toEqual(after);
			expect(edited.text).toContain("Read \\u0069t \\/ all.");
			expect(edited.text).toContain('"id": 9007199254740993, "temperature": 1.0e0');
			expect(invertEdits(edited)).toBe(source);
		}
	});
});

describe("editedPieces", () => {
	const messages = Array.from({ length: 40 }, (_, index) => ({ content: `${index}${"🦊".repeat(index * 900)}` }));
	const document = readTextDocument(JSON.stringify(messages, undefined, 1), "the text");
	const replaced = (index: number): PortableEdit => ({
		kind: "replace",
		path: `/${index}/content`,
		sha256_before: sha256Of(messages[index]?.content),
		replacement: "short 🧵",
	});
	const removed = (index: number): PortableEdit => ({
		kind: "remove",
		path: `/${index}`,
		sha256_before: sha256Of(messages[index]),
	});

	it.each([
		["no edit", []],
		["some edits", [replaced(3), removed(20), replaced(39)]],
		["everything removed", messages.map((_, index) => removed(index))],
	])("join to the edited text, without split characters: %s", (_, edits) => {
		const pieces = [...editedPieces(document, edits)];
		expect(pieces.join("")).toBe(writeEdits(document, edits).text);
		expect(pieces.every((piece) => piece.isWellFormed() && piece.length <= 1 << 16)).toBe(true);
		expect(pieces.length).toBeGreaterThan(edits.length === messages.length ? 0 : 10);
	});

	it("refuse edits of another text before the first piece", () => {
		const stale = { ...replaced(3), sha256_before: sha256Of("other") };
		expect(() => editedPieces(document, [stale]).next()).toThrow(/^Another value than/);
	});
});
