import { describe, expect, it } from "vitest";
import { truncateJsonContent, truncateText } from "../../src/operations/truncate.ts";
import { policyOf } from "../support/policy-of.ts";
import { textOfLength } from "../support/sample-text.ts";

const limits = {
	maxChars: 300,
	headChars: 100,
	tailChars: 100,
	marker: "<{omitted_chars} of {original_chars}, {ref}>",
};
const long = textOfLength(1_000);
const [head, tail] = [long.slice(0, 100), long.slice(-100)];
const cut = (text: string, given = {}) => truncateJsonContent(text, { ...limits, ...given }, () => "ref00000");

describe("the content of a JSON object", () => {
	it("is cut to its head and tail, and all else stays to the byte", () => {
		const short = `${head}<800 of 1000, ref00000>${tail}`;
		const cases: [string, string][] = [
			[`{"id":1,"content":"${long}"}`, `{"id":1,"content":"${short}","_truncated":true}`],
			[`{ "content": "${long}", "id": 1 }`, `{ "content": "${short}", "id": 1, "_truncated": true }`],
			[`{\n\t"content" :\t"${long}"\n}\n`, `{\n\t"content" :\t"${short}", "_truncated": true\n}\n`],
			[`{"_truncated":false,"content":"${long}"}`, `{"_truncated":true,"content":"${short}"}`],
			[`{"content":"${long}","_truncated": null}`, `{"content":"${short}","_truncated": true}`],
		];
		for (const [text, expected] of cases) {
			expect(cut(text)).toEqual({
				text: expected,
				truncated: true,
				originalChars: text.length,
				omittedChars: 800,
				omitted: undefined,
			});
		}
	});

	it.each([
		["no long text", JSON.stringify({ content: "x".repeat(200) }), true],
		["no object", JSON.stringify([long]), true],
		["no JSON", long, true],
		["no text", JSON.stringify({ content: [long] }), false],
		["nothing", JSON.stringify({ text: long }), false],
		["a content that was cut before", JSON.stringify({ content: long, _truncated: true }), false],
		["a short content next to a long field", JSON.stringify({ content: "short", text: long }), false],
	])("stays where there is %s", (_, text, isLeft) => {
		const whole = { text, truncated: false, originalChars: text.length, omittedChars: 0, omitted: undefined };
		expect(cut(text)).toEqual(isLeft ? undefined : whole);
	});

	it("is cut from one character over the limit on", () => {
		const text = JSON.stringify({ content: long });
		expect(cut(text, { maxChars: text.length })).toBeUndefined();
		expect(cut(text, { maxChars: text.length - 1 })).toMatchObject({ truncated: false });
		expect(cut(text, { maxChars: 999 })).toMatchObject({ truncated: true });
	});

	it("keeps less where its spelling needs more room, or all where nothing is gained", () => {
		const spelled = `{"content":"${"\\u0001".repeat(30)}${"a".repeat(280)}${"\\u0001".repeat(20)}"}`;
		const outcome = cut(spelled, { maxChars: 320, headChars: 160, tailChars: 160 });
		expect(outcome?.text.length ?? 0).toBeLessThan(spelled.length);
		expect(cut(JSON.stringify({ content: "abcdefgh" }), { maxChars: 5, headChars: 2, tailChars: 2 })).toMatchObject({
			leastLimit: expect.any(Number),
			truncated: true,
			text: JSON.stringify({ content: "abcdefgh" }),
		});
	});

	it("keeps less than a long limit in many steps where lone surrogates need six characters", () => {
		const content = `${"\ud800".repeat(900)}${"a".repeat(5_000)}`;
		const text = `{"content":"${content}"}`;
		const outcome = cut(text, { maxChars: 5_000, headChars: 2_500, tailChars: 2_500 });
		expect(outcome?.truncated).toBe(true);
		expect(outcome?.text.length).toBeLessThan(text.length);
	});

	it("is reported by the lines of the text around it", async () => {
		const policy = policyOf({
			locale: "en",
			truncate: { max_chars: 300, head_chars: 100, tail_chars: 100, json_content: true },
		});
		const text = `{\n"id": 1,\n"content": "${long}",\n"more": 2\n}\n`;
		const { report, text: shorter } = await truncateText({ text, policy });
		expect(JSON.parse(shorter)).toMatchObject({ id: 1, more: 2, _truncated: true });
		expect(report).toMatchObject({
			truncated: true,
			strategy: "head_tail",
			chars: { before: text.length, after: shorter.length },
			lines: { before: 5, kept: 3 },
			kept_lines: ["1-2", "5-5"],
			omitted_lines: ["3-4"],
			omitted_chars: 800,
			omitted: null,
		});
		expect("ref" in report).toBe(false);
	});
});

it("counts the lines of a text that is cut to its head and tail, with and without a line feed at its end", async () => {
	const policy = policyOf({ locale: "en", truncate: { max_chars: 20, head_chars: 4, tail_chars: 4 } });
	const rows = Array.from({ length: 50 }, (_, row) => `${row % 10}`).join("\n");
	const linesOf = async (text: string) => {
		const { lines, kept_lines, omitted_lines, omitted } = (await truncateText({ text, policy })).report;
		return [lines, kept_lines, omitted_lines, omitted];
	};
	expect(await linesOf("")).toEqual([{ before: 0, kept: 0 }, [], [], null]);
	expect(await linesOf("a")).toEqual([{ before: 1, kept: 1 }, ["1-1"], [], null]);
	expect(await linesOf("a\n\n")).toEqual([{ before: 2, kept: 2 }, ["1-2"], [], null]);
	const limit = policyOf({ locale: "en", truncate: { max_chars: 90, head_chars: 4, tail_chars: 4 } });
	const { report } = await truncateText({ text: rows, policy: limit });
	expect(report).toMatchObject({
		lines: { before: 50, kept: 4 },
		kept_lines: ["1-2", "49-50"],
		omitted_lines: ["3-48"],
		omitted: { start: 4, end: 95 },
	});
	await expect(truncateText({ text: 7 as never, policy })).rejects.toMatchObject({ code: "invalid_argument" });
});

it("names the omitted part of an output only if it is one", async () => {
	const rows = Array.from({ length: 400 }, (_, row) => `row ${row} says this`);
	const text = rows.with(200, "needle in it").join("\n");
	const omittedIn = async (given: object) => {
		const { report } = await truncateText({ text, policy: policyOf({ locale: "en" }), maxTokens: 300, ...given });
		return report.omitted;
	};
	const { start = 0, end = 0 } = (await omittedIn({ strategy: "head_tail" })) ?? {};
	expect(text.slice(0, start)).toMatch(/says this$/);
	expect(text.slice(end)).toMatch(/^\n?row /);
	expect(end - start).toBeGreaterThan(text.length / 2);
	expect(await omittedIn({ strategy: "focus", focus: "needle" })).toBeNull();
});
