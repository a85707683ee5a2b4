import { describe, expect, it } from "vitest";
import { truncate } from "../../src/library.ts";
import { textOfLength } from "../support/sample-text.ts";

// The limit of 8 000 characters, half and half: test/contract/preset-context-trim.test.ts.

const policy = { preset: "context-trim" } as const;
const cutOf = (text: string) => truncate(text, { policy });
const long = textOfLength(20_000);
const expected = `${long.slice(0, 4_000)}\n\n[... 12000 caractères omis ...]\n\n${long.slice(-4_000)}`;

describe("In a JSON result only the text in `content` is cut, with `_truncated: true` (docs/strategies.md#large-results)", () => {
	it("keeps half and half of `content` and sets the flag", async () => {
		const cut = await cutOf(JSON.stringify({ success: true, content: long, path: "a.txt" }));
		expect(JSON.parse(cut.text)).toEqual({ success: true, content: expected, path: "a.txt", _truncated: true });
		expect(cut.report).toMatchObject({ truncated: true, omitted_chars: 12_000 });
	});

	it("is done by `truncate_output` under context-trim only", async () => {
		const text = JSON.stringify({ ok: true, content: long });
		const cut = await cutOf(text);
		expect(JSON.parse(cut.text)).toEqual({ ok: true, content: expected, _truncated: true });
		const byGuard = await truncate(text, { policy: { preset: "context-guard" }, maxChars: 8_000 });
		expect(() => JSON.parse(byGuard.text)).toThrow();
	});

	it("keeps everything else byte for byte: spacing, numbers, escapes, repeated keys, white space around it", async () => {
		const around = (content: string, flag: string) =>
			` {\n  "n": 1.0e3, "big": 12345678901234567890,\t"\\u0061": "\\u00e9", "n": 2, "content": ${content}, "z" : [ ]${flag}\n}\n`;
		const cut = await cutOf(around(JSON.stringify(long), ""));
		expect(cut.text).toBe(around(JSON.stringify(expected), ', "_truncated": true'));
		const tight = await cutOf(`{"content":${JSON.stringify(long)}}`);
		expect(tight.text).toBe(`{"content":${JSON.stringify(expected)},"_truncated":true}`);
	});

	it("overwrites an existing flag with another value", async () => {
		const cut = await cutOf(JSON.stringify({ _truncated: false, content: long }));
		expect(cut.text).toBe(JSON.stringify({ _truncated: true, content: expected }));
	});

	it.each([8_001, 8_010, 8_036, 8_060, 8_100])(
		"never longer than before, and cut only once (%i characters)",
		async (length) => {
			for (const content of [textOfLength(length), '\n\u0001"\\é'.repeat(length / 5 + 1), "🦊".repeat(length / 2)]) {
				const text = JSON.stringify({ content });
				const cut = await cutOf(text);
				if (content.length <= 8_000) {
					expect(cut.report.truncated).toBe(false);
					continue;
				}
				expect(cut.report.truncated).toBe(true);
				expect(cut.text.length).toBeLessThan(text.length);
				const { content: left, _truncated } = JSON.parse(cut.text);
				expect(_truncated).toBe(true);
				expect(left.isWellFormed()).toBe(true);
				expect(left).toMatch(/caractères omis/);
				const again = await cutOf(cut.text);
				// Within the limit nothing is cut at all.
				expect(again.report.truncated).toBe(false);
			}
		},
	);

	it.each([
		["content within the limit", { content: textOfLength(7_990), path: "x".repeat(50) }],
		["content within the limit next to more", { content: "short", more: long }],
		["a list in content", { content: [long] }],
		["no content", { text: long }],
	])("keeps an object: %s", async (_, object) => {
		const text = JSON.stringify(object);
		expect(text.length).toBeGreaterThan(8_000);
		const cut = await cutOf(text);
		expect(cut).toMatchObject({ text, report: { truncated: false } });
	});

	it.each([
		["a list", JSON.stringify([{ content: long }])],
		["no JSON", `{ "content": "${long}`],
		["plain text", long],
		["an object within the limit", JSON.stringify({ content: "short" })],
	])("%s is cut like any other text", async (_, text) => {
		const plain = await truncate(text, { policy: { ...policy, truncate: { json_content: false } } });
		expect(await cutOf(text)).toEqual(plain);
	});
});
