import { describe, expect, it } from "vitest";
import { loadCounter } from "../../src/formats/tokens/counter.ts";
import { truncate } from "../../src/library.ts";
import { truncateText } from "../../src/operations/truncate.ts";
import type { Archive } from "../../src/storage/archive/archive.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import { policyOf } from "../support/policy-of.ts";

const count = await loadCounter("o200k_base");
const policy = policyOf({ locale: "en" });
const lines = Array.from({ length: 900 }, (_, index) => `value${index} is one of many lines`).join("\n");
const memory = async () => (await openArchive({ where: "memory" })) as Archive;

describe("truncateText with a strategy", () => {
	it("reports the kept and omitted lines, numbered as for recall_original, and the original's reference", async () => {
		const archive = await memory();
		const request = { text: lines, policy, archive, recall: "offered", maxChars: 4_000, focus: "value500" } as const;
		const { text, report } = await truncateText(request);
		expect(report).toMatchObject({ truncated: true, strategy: "focus", lines: { before: 900 }, omitted: null });
		expect(text).toMatch(/^\[Output shortened: \d+ of 900 lines left out .*, ref=\w+\] Intact, no error: /);
		expect(text).toContain(`ref=${report.ref}]`);
		expect((await archive.get(report.ref ?? "")).text).toBe(lines);
		const ranges = [...report.kept_lines, ...report.omitted_lines].map((one) => one.split("-").map(Number));
		const places = ranges.toSorted(([a = 0], [b = 0]) => a - b);
		expect(places[0]?.[0]).toBe(1);
		expect(places.at(-1)?.[1]).toBe(900);
		expect(places.slice(1).map(([from]) => from)).toEqual(places.slice(0, -1).map(([, to = 0]) => to + 1));
		const all = lines.split("\n");
		for (const range of report.kept_lines) {
			const [from = 0, to = 0] = range.split("-").map(Number);
			expect(text).toContain(all.slice(from - 1, to).join("\n"));
			expect(to <= 499 || from >= 503 || (from <= 501 && to >= 501)).toBe(true);
		}
		expect(report.kept_lines.length).toBeGreaterThan(2);
		expect(report.lines.kept).toBeGreaterThan(60);
	});

	it("stays within the exact number of tokens", async () => {
		for (const maxTokens of [80, 300, 2_000]) {
			const { text, report } = await truncateText({ text: lines, policy, maxTokens });
			expect(count(text)).toBeLessThanOrEqual(maxTokens);
			expect(count(text)).toBeGreaterThan(maxTokens * 0.8);
			expect(report.tokens).toEqual({ before: count(lines), after: count(text) });
			expect((await truncateText({ text, policy, maxTokens })).report.truncated).toBe(false);
		}
	});

	it("reads HTML with a library: no tags, no link addresses, no images", async () => {
		const paragraph = (index: number) =>
			`<p>Paragraph ${index} &amp; <a href="https://example.org/${index}">a link</a><img src="x.png" alt="picture"></p>`;
		const html = `<!doctype html><html><head><style>p { color: red }</style></head><body><h1>maxRetries</h1>${Array.from({ length: 400 }, (_, index) => paragraph(index)).join("\n")}</body></html>`;
		const { text, report } = await truncateText({ text: html, policy, maxChars: 3_000, strategy: "auto" });
		expect(report).toMatchObject({ strategy: "html", kept_lines: [], lines: { kept: 0 } });
		expect(text).toMatch(/^\[HTML as text; the original has \d+ characters\]\n/);
		expect(text).toContain("Paragraph 0 & a link\n");
		expect(text).toContain("maxRetries");
		expect(text).not.toMatch(/<|https|picture|color/);
		const long = html.replace("<body>", `<body>${"<p>words</p>".repeat(400_000)}`);
		const cut = await truncateText({ text: long, policy, maxChars: 2_000, strategy: "auto" });
		expect(cut.report.strategy).not.toBe("html");
	});

	it.each([
		["nested deeply", 400, "</div>", true],
		["nested without end", 80_000, "</div>", false],
		["nested without end, closed by other names", 80_000, "</x>", false],
	])("reads a page in linear time: %s", async (_, depth, closing, isRead) => {
		const words = "<p>Some words.</p>".repeat(400);
		const page = `<!doctype html>${words}${"<div>".repeat(depth)}${closing.repeat(depth)}`;
		const { text, report } = await truncateText({ text: page, policy, maxChars: 2_000, strategy: "auto" });
		expect(text.length).toBeLessThanOrEqual(2_000);
		expect(report.strategy === "html").toBe(isRead);
	});

	it("removes colours, or keeps them", async () => {
		const coloured = lines.replace(/value\d+/g, "\u001b[31m$&\u001b[0m");
		const cut = (keep_ansi: boolean) =>
			truncateText({ text: coloured, policy: policyOf({ truncate: { strategy: "auto", max_chars: 900, keep_ansi } }) });
		expect((await cut(false)).text).not.toContain("\u001b");
		expect((await cut(true)).text).toContain("\u001b[31mvalue0\u001b[0m is");
	});
});

describe("truncateText to head and tail", () => {
	it("reports the lines too", async () => {
		const headTail = policyOf({ truncate: { max_chars: 1_000, head_chars: 40, tail_chars: 30 } });
		const { report } = await truncateText({ text: lines, policy: headTail });
		expect(report).toMatchObject({
			strategy: "head_tail",
			lines: { before: 900, kept: 2 },
			kept_lines: ["1-1", "900-900"],
			omitted_lines: ["2-899"],
		});
		const whole = await truncateText({ text: "a\nb\n", policy: headTail });
		expect(whole.report).toMatchObject({ lines: { before: 2, kept: 2 }, kept_lines: ["1-2"], omitted_lines: [] });
	});

	it("cuts only the `content` of JSON when the policy says so, without any other strategy", async () => {
		const json = JSON.stringify({ id: 1, content: lines });
		const trim = policyOf({ preset: "context-trim", truncate: { max_chars: 2_000, head_chars: 900, tail_chars: 900 } });
		const headTail = await truncateText({ text: json, policy: trim });
		expect(JSON.parse(headTail.text)).toMatchObject({ id: 1, _truncated: true });
		expect(headTail.report).toMatchObject({ strategy: "head_tail", omitted: null, omitted_lines: ["1-1"] });
		const auto = await truncateText({ text: json, policy: trim, strategy: "auto" });
		expect(JSON.parse(auto.text)).toMatchObject({ id: 1, _truncated: expect.stringContaining("Sortie abrégée") });
		expect(auto.report.strategy).toBe("json");
	});
});

describe("a limit that leaves no room for a marker", () => {
	const names = "fatima_wilson_4729, yusuf_rossi_9620, mei_kovacs_8020, ".repeat(80);
	const texts = {
		names,
		lines,
		json: JSON.stringify(lines.split("\n")),
		object: JSON.stringify({ content: names }),
		page: `<!doctype html><html><body><p>${names}</p></body></html>`,
		colours: "\u001b[31m".repeat(400),
		data: "\u0000\u0001".repeat(400),
	};
	const each = Object.entries(texts).flatMap(([name, text]) =>
		[
			{ maxChars: 10 },
			{ maxChars: 0 },
			{ maxChars: 10, strategy: "auto" },
			{ maxTokens: 1 },
			{ maxTokens: 4, strategy: "head_tail" },
		].map((asked) => ({ name, text, asked: asked as { maxChars: number; strategy?: "auto" } })),
	);

	it.each(each)("is refused, and the minimum is named ($name, $asked)", async ({ text, asked }) => {
		const option = "maxChars" in asked ? "maxChars" : "maxTokens";
		for (const given of [policy, policyOf({ preset: "context-trim" }), policyOf({ locale: "zh" })]) {
			const cut = (more: object) => truncate(text, { ...asked, ...more, policy: given });
			const error = await cut({}).then(
				() => undefined,
				(one) => one,
			);
			expect(error).toMatchObject({ code: "invalid_argument", message: expect.stringContaining(`\`${option}\``) });
			const least = Number(/smallest that works here is (\d+); got \d+\.$/.exec(error.message)?.[1]);
			const { text: shown, report } = await cut({ [option]: least });
			expect(report.truncated).toBe(true);
			expect(shown).toMatch(/left out|truncated\]|omis|省略|截断|_truncated|…\]/);
			await expect(cut({ [option]: least - 1 })).rejects.toMatchObject({ code: "invalid_argument" });
		}
	});

	it("names the length without colours as the minimum when that fits", async () => {
		const coloured = "\n\n\n\n\u001b[31mred\u001b[0m";
		const cut = (maxChars: number) => truncate(coloured, { maxChars, strategy: "table" });
		await expect(cut(0)).rejects.toThrow(/smallest that works here is 7; got 0/);
		expect((await cut(7)).text).toBe("\n\n\n\nred");
		await expect(cut(6)).rejects.toThrow(/smallest that works here is 7; got 6/);
	});

	it("is named as the caller named it", async () => {
		const small = policyOf({ locale: "en", truncate: { max_chars: 9 } });
		await expect(truncateText({ text: names, policy: small })).rejects.toThrow(/`truncate\.max_chars`.* got 9\./);
		const inTokens = policyOf({ truncate: { max_tokens: 2 } });
		await expect(truncateText({ text: names, policy: inTokens })).rejects.toThrow(/`truncate\.max_tokens`/);
		await expect(truncateText({ text: names, policy, maxChars: 9 })).rejects.toThrow(/`max_chars`/);
	});

	it("is harmless when nothing must be cut", async () => {
		expect(await truncate("short", { maxChars: 10 })).toMatchObject({ text: "short", report: { truncated: false } });
		expect(await truncate("", { maxChars: 0 })).toMatchObject({ text: "" });
	});

	it("reports every line of a text that fits as kept, with any strategy", async () => {
		for (const strategy of ["head_tail", "log"] as const) {
			const { report } = await truncateText({ text: "one\ntwo\nthree\n", policy, strategy });
			expect(report).toMatchObject({
				truncated: false,
				strategy,
				chars: { before: 14, after: 14 },
				lines: { before: 3, kept: 3 },
				kept_lines: ["1-3"],
				omitted_lines: [],
				omitted_chars: 0,
				omitted: null,
			});
			expect(report).not.toHaveProperty("ref");
		}
	});

	it("reports the first lines as omitted where no head is kept", async () => {
		const own = policyOf({ locale: "en", truncate: { head_chars: 0, tail_chars: 200 } });
		const { report } = await truncateText({ text: lines, policy: own, maxChars: 400, strategy: "head_tail" });
		expect(report.omitted_lines).toEqual([expect.stringMatching(/^1-8\d\d$/)]);
		expect(report.kept_lines).toEqual([expect.stringMatching(/^8\d\d-900$/)]);
		expect(report.omitted?.start).toBe(0);
	});

	it("cuts a placeholder only where no archive has its original", async () => {
		const words = "These words are long. ".repeat(20);
		const own = policyOf({ locale: "en", mask: { placeholder_template: `[gone: {ref}. ${words}]` } });
		const placeholder = `[gone: abcd2345. ${words}]`;
		const request = { text: placeholder, policy: own, maxChars: 300 };
		expect((await truncateText({ ...request, archive: await memory() })).text).toBe(placeholder);
		expect((await truncateText(request)).text.length).toBeLessThanOrEqual(300);
	});

	it("keeps nothing in the archive", async () => {
		const archive = await memory();
		await expect(truncateText({ text: names, policy, archive, maxChars: 10 })).rejects.toThrow();
		for await (const kept of archive.list()) expect(kept).toBeUndefined();
	});
});
