import { fc, test } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { createRedact, findPatterns } from "../../../src/storage/archive/redact.ts";

const redactionMark = "[redacted before archiving]";

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

	const anyText = fc.string({
		unit: fc.constantFrom("a", "\\", '"', "n", "u", "0041", "\n", "漢", "\ud83d\ude00", "/", "\ud800"),
	});

	test.prop([anyText, anyText])("leaves everything around a match in JSON unchanged", async (before, after) => {
		const redact = await redacting("KEY\\d");
		const json = (words: string) => JSON.stringify({ before: "\n\\", text: `${before} ${words} ${after}` });
		expect(redact(json("KEY1"))).toEqual({ text: json(redactionMark), redactions: 1 });
	});

	it("gives the same result in any order of calls", async () => {
		const redact = await redacting("s\\d");
		const texts = Array.from({ length: 40 }, (_, index) => `s${index % 10} ${index} ${"x".repeat(1 << 20)}`);
		const first = texts.map((text) => redact(text).text.length);
		expect(texts.toReversed().map((text) => redact(text).text.length)).toEqual(first.toReversed());
	});
});
