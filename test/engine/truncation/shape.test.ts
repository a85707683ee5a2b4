import { describe, expect, it } from "vitest";
import { findKept, shorten } from "./shorten.ts";

const range = (count: number) => Array.from({ length: count }, (_, index) => index);

describe("the notice", () => {
	const text = range(400)
		.map((index) => `line ${index} of a text that says little`)
		.join("\n");

	it("is at the top, reports the omission and how to read the original, and each gap names its lines", () => {
		const cut = shorten(text, 2_000);
		const [top, gap] = cut.notices as [string, string];
		expect(cut.text.startsWith(`${top}\n`)).toBe(true);
		expect(top).toContain("ref=0123456789abcdef");
		expect(top).toContain(`${cut.lines.total - cut.lines.kept} of 400 lines`);
		const [, from, to] = /lines (\d+)–(\d+)/.exec(gap) as unknown as [string, string, string];
		expect(cut.omittedLines).toEqual([{ from: Number(from), to: Number(to) }]);
		expect(cut.text).toContain(`line ${Number(from) - 2} of a text that says little\n${gap}\nline ${to} of`);
	});

	it("names no reference without an archive", () => {
		expect(shorten(text, 2_000, { ref: undefined }).notices[0]).not.toContain("recall_original");
	});

	it("is omitted when there is little room", () => {
		expect(shorten(text, 200).notices[0]).toMatch(/^\[shortened: \d+ characters left out, ref=\w+\]$/);
		expect(shorten(text, 150, { ref: undefined }).notices[0]).toMatch(/^\[shortened: \d+ characters left out\]$/);
		expect(shorten(text, 30).text).toBe(text.slice(0, 30));
	});
});

describe("shapes", () => {
	it("a diff keeps the headers of its files and hunks, and cuts its hunks evenly", () => {
		const files = range(6).map((file) => {
			const lines = range(120).map(
				(index) => `${index % 3 === 0 ? "+" : " "}  const value_${file}_${index} = compute(${index});`,
			);
			return `diff --git a/f${file}.ts b/f${file}.ts\n--- a/f${file}.ts\n+++ b/f${file}.ts\n@@ -1,80 +1,120 @@\n${lines.join("\n")}`;
		});
		const cut = shorten(files.join("\n"), 4_000);
		expect(cut.strategy).toBe("diff");
		for (const file of range(6)) {
			expect(cut.text).toContain(`+++ b/f${file}.ts`);
			expect(cut.text.match(new RegExp(`value_${file}_`, "g"))?.length).toBeGreaterThan(3);
		}
		expect(cut.text.match(/^@@/gm)?.length).toBe(6);
	});

	it.each([",", ";", "\t"])(
		"a table of fields split by %j keeps its header, first and last rows and matching rows",
		(mark) => {
			const rows = range(900).map((index) => [index, `name${index}`, `"a, b"`, index * 7].join(mark));
			const text = [["id", "name", "note", "total"].join(mark), ...rows].join("\n");
			const cut = shorten(text, 1_500, { focus: "name678" });
			expect(cut.strategy).toBe("table");
			for (const line of [text.split("\n")[0], rows[0], rows[678], rows[899]]) expect(cut.text).toContain(line);
		},
	);

	it("columns separated by blanks are a table too", () => {
		const rows = range(300).map((index) => `pod-${index}      Running   ${index}d    node-${index % 7}`);
		const cut = shorten(["NAME      STATUS   AGE    NODE", ...rows].join("\n"), 1_500);
		expect(cut.strategy).toBe("table");
		expect(cut.text).toContain("NAME      STATUS   AGE    NODE");
	});

	it("data is described, not shown", () => {
		const base64 = Buffer.from(range(9_000).map((index) => (index * 7_919) % 251)).toString("base64");
		const minified = "function a(b){return c.d(b,function(){e.f=g;h.i(j)})};".repeat(400);
		const binary = `PNG header\0\u0001\u0002${"\0\u0003x".repeat(3_000)}`;
		for (const [text, kind] of [
			[base64, "Base64 data"],
			[minified, "Minified code"],
			[binary, "Binary data"],
		] as const) {
			const cut = shorten(text, 2_000);
			expect(cut.strategy).toBe("binary");
			expect(cut.text).toContain(`[${kind}, not shown: ${text.length} characters, 1 lines]`);
			expect(cut.text.length).toBeLessThan(500);
			expect(findKept(text, cut)?.length).toBe(1);
		}
	});

	it("HTML becomes text with the given function, and is cut as text without one", () => {
		const html = `<!doctype html><html><body>${range(200)
			.map((index) => `<p>Paragraph ${index}</p>`)
			.join("")}</body></html>`;
		const htmlToText = (given: string) => given.replace(/<\/p>/g, "\n").replace(/<[^>]*>/g, "");
		const cut = shorten(html, 1_500, { htmlToText });
		expect(cut).toMatchObject({ strategy: "html", kept: [], truncated: true });
		expect(cut.text).toMatch(/^\[HTML as text; the original has \d+ characters, ref=\w+\] Intact/);
		expect(cut.text).toContain("\nParagraph 0\n");
		const failing = () => {
			throw new RangeError("Maximum call stack size exceeded");
		};
		for (const given of [{}, { htmlToText: failing }]) expect(shorten(html, 1_500, given).strategy).toBe("head_tail");
	});

	it("with a focus, related lines are kept with those around them", () => {
		const lines = range(1_500).map((index) => `\tthis.step${index % 50}(input, ${index});`);
		lines.splice(700, 0, "\tprivate retryBudget(limits: RetryLimits) {", "\t\treturn limits.most - this.used;", "\t}");
		const cut = shorten(lines.join("\n"), 4_000, {
			focus: '{"pattern":"retryBudget"}\nWhere is the retry budget computed?',
		});
		expect(cut.strategy).toBe("focus");
		expect(cut.text).toContain("private retryBudget(limits: RetryLimits) {\n\t\treturn limits.most - this.used;");
		expect(cut.text).toContain(`${lines[0]}\n`);
		expect(cut.text.endsWith(lines.at(-1) as string)).toBe(true);
	});
});

describe("escape sequences", () => {
	const text = range(300)
		.map((index) => `\u001b[32m✓\u001b[39m colour ${index} is fine`)
		.join("\n");

	it("are removed, and the ranges still name lines of the original", () => {
		const cut = shorten(text, 2_000, { strategy: "head_tail" });
		expect(cut.text).not.toContain("\u001b");
		const [first] = cut.kept;
		const original = text.slice(first?.start, first?.end);
		expect(original.startsWith("\u001b[32m✓")).toBe(true);
		expect(original.endsWith("is fine")).toBe(true);
		expect(cut.lines.total).toBe(300);
	});

	it("stay on request", () => {
		expect(shorten(text, 2_000, { keepAnsi: true }).text).toContain("\u001b[32m");
	});

	it("are the only removed part when that is enough", () => {
		const cut = shorten(text, text.length - 100);
		expect(cut).toMatchObject({ truncated: true, omitted: [], notices: [] });
	});
});
