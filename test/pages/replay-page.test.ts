import { beforeAll, describe, expect, it } from "vitest";
import { replayPage } from "../../src/pages/replay-page.ts";
import { selfContainedPage } from "../../src/pages/self-contained-page.ts";
import { hashOf, readPage } from "./read-page.ts";
import { hostileName, policyNames, replayFixture } from "./replay-fixture.ts";

const fixture = replayFixture({ "a.json": 60, [hostileName]: 12 });
let html: string;
beforeAll(async () => {
	html = await replayPage(fixture);
});

describe("the page of a replay", () => {
	it("allows its own scripts and style sheets by their hashes, and nothing else", () => {
		const { policy, scripts, styles, scriptHashes, styleHashes } = readPage(html);
		expect(policy).toMatch(/^default-src 'none'; script-src 'sha256-/);
		expect(policy).not.toMatch(/unsafe|https?:|\*/);
		expect(scripts).toHaveLength(2);
		expect(scriptHashes).toEqual(scripts.map(hashOf));
		expect(styles).toHaveLength(2);
		expect(styleHashes).toEqual(styles.map(hashOf));
	});

	it("asks for nothing: no address, but in a comment and as the name of a vocabulary", () => {
		expect(readPage(html).addresses).toEqual(["http://www.w3.org/2000/svg", "https://github.com/leeoniya/uPlot"]);
		expect(html).not.toMatch(/\b(?:src|srcset|action)=|<(?:link|iframe|object|embed|base)\b|@import|url\(/);
		expect(Array.from(html.matchAll(/\bhref="([^"]*)"/g), ([, target]) => target)).toEqual(["#main"]);
	});

	it("takes a name for text, wherever it stands", () => {
		expect(html.match(/<script\b/g)).toHaveLength(3);
		expect(html).not.toMatch(/<script>alert|<b>mine/);
		expect(html).toContain("&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;&lt;!-- &quot;quoted&quot;");
		expect(html).toContain("&lt;b&gt;mine&lt;/b&gt;.toml");
		expect(readPage(html).data.files.map((one: { file: string }) => one.file)).toEqual(["a.json", hostileName]);
	});

	it("carries the licence of what draws it", () => {
		expect(readPage(html).scripts[0]).toContain("Permission is hereby granted, free of charge");
	});

	it("says every figure in tables that need no script", () => {
		const [, all = "", first = ""] = html.split("<table");
		expect(all).toContain("All figures over 2 conversations");
		expect(first).toContain("All figures of a.json");
		expect(all.match(/<th scope="row">/g)).toHaveLength(policyNames.length);
		const row = all.split("<tr>").find((one) => one.includes(">balanced<")) ?? "";
		const cells = Array.from(row.matchAll(/<td[^>]*>([^<]*)</g), ([, cell]) => cell);
		const balanced = fixture.report.policies[2];
		const count = (value = 0) => Math.round(value).toLocaleString("en");
		expect(cells).toEqual([
			count(balanced?.billed),
			balanced?.ratio_to_raw.toFixed(3),
			"1.125",
			"1.034",
			...["87.8%", "1.7%", "99.8%"],
			...["91.6%", "–", "99.9%"],
			`${(100 * (balanced?.average_context_ratio ?? 0)).toFixed(1)}%`,
			count(balanced?.peak_context_tokens),
			"3",
			"8",
			"2",
			"72",
			count(balanced?.input_tokens),
			count(balanced?.cached_tokens),
		]);
	});

	it("names dollars where costs are in dollars", async () => {
		const page = await replayPage({ ...fixture, billedIn: "us_dollars" });
		expect(page).toContain("in US dollars at the model’s prices");
		expect(page).toMatch(/<td class="first">\$[\d,.]+<\/td>/);
	});

	it("speaks of one conversation where there is one, and draws none where none can be drawn", async () => {
		const page = await replayPage({ report: replayFixture({ "a.json": 60 }).report, series: [] });
		expect(page).toContain("The conversation as a whole");
		expect(page).not.toMatch(/Each conversation|id="over-time"|× raw, worst/);
	});
});

describe("a self-contained page", () => {
	const parts = { title: "<i>", body: "", styles: ["a{}\r\nb{}"] };

	it("hashes what a browser reads, whose line ends are one character", () => {
		const { styles, styleHashes, scriptHashes } = readPage(selfContainedPage({ ...parts, scripts: ["1;\r2;"] }));
		expect(styles).toEqual(["a{}\nb{}"]);
		expect(styleHashes).toEqual([hashOf("a{}\nb{}")]);
		expect(scriptHashes).toEqual([hashOf("1;\n2;")]);
	});

	it.each(["'</script>'", "'</STYLE >'", "'<!--'"])("refuses a script that would end itself: %s", (script) => {
		expect(() => selfContainedPage({ ...parts, scripts: [script] })).toThrow("holds what would end it");
	});
});
