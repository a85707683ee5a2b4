import { describe, expect, it } from "vitest";
import { truncateText } from "../../src/operations/truncate.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import { policyOf } from "../support/policy-of.ts";
import { textOfLength } from "../support/sample-text.ts";

const archive = await openArchive({ where: "memory" });
if (!archive) throw new Error("Expected an archive.");
const limits = {
	max_chars: 300,
	head_chars: 100,
	tail_chars: 100,
	marker_template: "<{omitted_chars} of {original_chars}, {ref}>",
	json_content: true,
};
const long = textOfLength(1_000);
const [head, tail] = [long.slice(0, 100), long.slice(-100)];
const cut = (text: string, given = {}) =>
	truncateText({ text, policy: policyOf({ locale: "en", truncate: { ...limits, ...given } }), archive });

describe("the content of a JSON object", () => {
	it("is cut to its head and tail, and all else stays to the byte", async () => {
		const cases: [string, string][] = [
			[`{"id":1,"content":"${long}"}`, `{"id":1,"content":"SHORT","_truncated":true}`],
			[`{ "content": "${long}", "id": 1 }`, `{ "content": "SHORT", "id": 1, "_truncated": true }`],
			[`{\n\t"content" :\t"${long}"\n}\n`, `{\n\t"content" :\t"SHORT", "_truncated": true\n}\n`],
			[`{"_truncated":false,"content":"${long}"}`, `{"_truncated":true,"content":"SHORT"}`],
			[`{"content":"${long}","_truncated": null}`, `{"content":"SHORT","_truncated": true}`],
		];
		for (const [text, expected] of cases) {
			const { report, text: shorter } = await cut(text);
			// The reference is that of the whole text.
			const ref = archive.refOf(text);
			expect(shorter).toBe(expected.replace("SHORT", `${head}<800 of 1000, ${ref}>${tail}`));
			expect(report).toMatchObject({ truncated: true, omitted_chars: 800, omitted: null, ref });
			expect(report.chars).toEqual({ before: text.length, after: shorter.length });
		}
	});

	it.each([
		["within the limit", JSON.stringify({ content: "x".repeat(200) })],
		["not a text", JSON.stringify({ content: [long] })],
		["absent", JSON.stringify({ text: long })],
		["already cut", JSON.stringify({ content: long, _truncated: true })],
		["short, next to a long field", JSON.stringify({ content: "short", text: long })],
	])("stays, and all else too, if it is %s", async (_, text) => {
		expect(await cut(text)).toMatchObject({ text, report: { truncated: false, omitted_chars: 0, omitted: null } });
	});

	it.each([
		["not an object", JSON.stringify([long])],
		["not JSON", long],
	])("is not looked for in a text that is %s", async (_, text) => {
		expect(await cut(text)).toEqual(await cut(text, { json_content: false }));
		expect((await cut(text)).report.truncated).toBe(true);
	});

	it("is cut from one character over the limit on", async () => {
		const text = JSON.stringify({ content: long });
		const isCut = async (max_chars: number) => (await cut(text, { max_chars })).report.truncated;
		expect([await isCut(text.length), await isCut(text.length - 1), await isCut(999)]).toEqual([false, false, true]);
	});

	it("keeps less where its spelling needs more room, and is refused where the notice has none", async () => {
		const spelled = `{"content":"${"\\u0001".repeat(30)}${"a".repeat(280)}${"\\u0001".repeat(20)}"}`;
		const outcome = await cut(spelled, { max_chars: 320, head_chars: 160, tail_chars: 160 });
		expect(outcome.text.length).toBeLessThan(spelled.length);
		const short = cut(JSON.stringify({ content: "abcdefgh" }), { max_chars: 5, head_chars: 2, tail_chars: 2 });
		await expect(short).rejects.toMatchObject({ code: "invalid_argument" });
	});

	it("keeps less than a long limit in many steps where lone surrogates need six characters", async () => {
		const content = `${"\ud800".repeat(900)}${"a".repeat(5_000)}`;
		const text = `{"content":"${content}"}`;
		const outcome = await cut(text, { max_chars: 5_000, head_chars: 2_500, tail_chars: 2_500 });
		expect(outcome.report.truncated).toBe(true);
		expect(outcome.text.length).toBeLessThan(text.length);
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
