import { fc, test } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { createRedact, findPatterns, redactionMark, unescapedViews } from "../../src/archive/redact.ts";

const redacting = async (...patterns: string[]) => createRedact([await findPatterns(patterns)]);

describe("redaction", () => {
	it("replaces each match by the mark and counts the matches", async () => {
		const redact = await redacting("s\\d", "^k.*$");
		expect(redact("s1 and s2\nkey\nas k")).toEqual({
			text: `${redactionMark} and ${redactionMark}\n${redactionMark}\nas k`,
			redactions: 3,
		});
		expect(redact("nothing")).toEqual({ text: "nothing", redactions: 0 });
	});

	it("merges overlapping matches, and ignores empty ones", async () => {
		expect((await redacting("abc", "bcd", "b"))("xabcdx")).toEqual({ text: `x${redactionMark}x`, redactions: 1 });
		expect((await redacting("ab", "cd"))("abcd")).toEqual({ text: redactionMark.repeat(2), redactions: 2 });
		expect((await redacting("x*"))("aaa")).toEqual({ text: "aaa", redactions: 0 });
	});

	it("finds the same in the JSON of a text, and in the JSON of that, as in the text", async () => {
		const redact = await redacting('password = "[^"]+"', "(?s)BEGIN\\n.+?\\nEND");
		const secrets = ['password = "a\\b ü"', "BEGIN\nline\nline\nEND"];
		for (const secret of secrets) {
			let json = `before\n${secret}\t"after"`;
			let expected = `before\n${redactionMark}\t"after"`;
			for (let level = 0; level < 4; level += 1) {
				expect(redact(json)).toEqual({ text: expected, redactions: 1 });
				json = JSON.stringify([{ text: json }]);
				expected = JSON.stringify([{ text: expected }]);
			}
			expect(redact(JSON.stringify(`é${secret}`).replaceAll("\\n", "\\u000a")).text).toContain(redactionMark);
		}
	});

	it("gives the same result in any order of calls", async () => {
		const redact = await redacting("s\\d");
		const texts = Array.from({ length: 40 }, (_, index) => `s${index % 10} ${index} ${"x".repeat(1 << 20)}`);
		const first = texts.map((text) => redact(text).text.length);
		expect(texts.toReversed().map((text) => redact(text).text.length)).toEqual(first.toReversed());
	});
});

describe("views of a text", () => {
	const anyText = fc.string({
		unit: fc.constantFrom("a", "\\", '"', "n", "u", "0041", "\n", "漢", "\ud83d\ude00", "/", "\ud800"),
	});

	test.prop([anyText])("map positions in the JSON string back to the text", (text) => {
		const json = JSON.stringify({ before: "\n\\", text, after: '"' });
		const inner = JSON.stringify(text).slice(1, -1);
		const start = json.indexOf(',"text":"') + ',"text":"'.length;
		const view = [...unescapedViews(json)][1];
		expect(view).toBeDefined();
		const at = view?.text.indexOf(`,"text":"`) ?? -1;
		const from = at + ',"text":"'.length;
		expect(view?.text.slice(from, from + text.length).toWellFormed()).toBe(text.toWellFormed());
		expect(view?.before(from)).toBe(start);
		expect(view?.before(from + text.length)).toBe(start + inner.length);
	});

	it("are as many as levels of escapes, up to five", () => {
		expect([...unescapedViews("plain C:\\dir")].length).toBe(1);
		expect([...unescapedViews("a\\nb")].map(({ text }) => text)).toEqual(["a\\nb", "a\nb"]);
		expect([...unescapedViews("\\".repeat(1000))].length).toBe(5);
	});
});
