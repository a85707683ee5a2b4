import { fc, it } from "@fast-check/vitest";
import { beforeAll, describe, expect } from "vitest";
import { selfContainedPage } from "../../src/pages/page.ts";
import { mostDrawnCalls, type ReplayPageData, replayPageData } from "../../src/pages/replay-data.ts";
import { replayPage } from "../../src/pages/replay-page.ts";
import { hashOf, readPage } from "./read-page.ts";
import { hostileName, policyNames, replayFixture } from "./replay-fixture.ts";

const fixture = replayFixture({ "a.json": 60, [hostileName]: 12 });

let html: string;

beforeAll(async () => {
	html = await replayPage(fixture);
});

describe("the page of a replay", () => {
	it("allows only its own scripts and style sheets, by their hashes", () => {
		const { policy, scripts, styles, scriptHashes, styleHashes } = readPage(html);
		expect(policy).toMatch(/^default-src 'none'; script-src 'sha256-/);
		expect(policy).not.toMatch(/unsafe|https?:|\*/);
		expect(scripts).toHaveLength(2);
		expect(scriptHashes).toEqual(scripts.map(hashOf));
		expect(styles).toHaveLength(2);
		expect(styleHashes).toEqual(styles.map(hashOf));
	});

	it("loads nothing: has no addresses, except in a comment and as a namespace", () => {
		expect(readPage(html).addresses).toEqual(["http://www.w3.org/2000/svg", "https://github.com/leeoniya/uPlot"]);
		expect(html).not.toMatch(/\b(?:src|srcset|action)=|<(?:link|iframe|object|embed|base)\b|@import|url\(/);
		expect(Array.from(html.matchAll(/\bhref="([^"]*)"/g), ([, target]) => target)).toEqual(["#main"]);
	});

	it("escapes names everywhere", () => {
		expect(html.match(/<script\b/g)).toHaveLength(3);
		expect(html).not.toMatch(/<script>alert|<b>mine/);
		expect(html).toContain("&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;&lt;!-- &quot;quoted&quot;");
		expect(html).toContain("&lt;b&gt;mine&lt;/b&gt;.toml");
		expect(readPage(html).data.files.map((one: { file: string }) => one.file)).toEqual(["a.json", hostileName]);
	});

	it("includes the licence of the plot library", () => {
		expect(readPage(html).scripts[0]).toContain("Permission is hereby granted, free of charge");
	});

	it("gives every figure in tables that need no script", () => {
		const [, all = "", , first = ""] = html.split("<table");
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
			"2.50",
			count(balanced?.billed_with_faults),
			balanced?.ratio_with_faults.toFixed(3),
			"0.610",
			"1.250",
			"0.901",
			...["87.8%", "1.7%"],
			...["91.6%", "–"],
			`${(100 * (balanced?.average_context_ratio ?? 0)).toFixed(1)}%`,
			count(balanced?.peak_context_tokens),
			"3",
			"8",
			"2",
			"72",
			count(balanced?.input_tokens),
			count(balanced?.cached_tokens),
			count(balanced?.output_tokens),
		]);
	});

	it("ranks the policies by the bill at several prices of a fault", async () => {
		const [raw, window, balanced, mine] = fixture.report.policies;
		const priced = (figures: typeof raw, ratio_to_raw: number, fault_cost_to_raw: number) =>
			figures === undefined ? [] : [{ ...figures, ratio_to_raw, fault_cost_to_raw }];
		const policies = [
			...priced(raw, 1, 0),
			...priced(window, 1, 0.1),
			...priced(balanced, 0.9, 0.02),
			...priced(mine, 0.7, 0.15),
		];
		const page = await replayPage({ report: { ...fixture.report, policies }, series: [] });
		const table = page.split("<table").find((one) => one.includes("<caption>Ranking")) ?? "";
		expect(Array.from(table.matchAll(/colspan="2">([^<]*)</g), ([, price]) => price)).toEqual([
			"0 ×",
			"1 ×",
			"3 ×",
			"10 ×",
		]);
		const rows = table.split("</table>", 1)[0]?.split("<tr>").slice(3) ?? [];
		const cells = rows.map((row) => Array.from(row.matchAll(/<(?:bdi|td[^>]*)>([^<]*)</g), ([, cell]) => cell));
		expect(cells).toEqual([
			["&lt;b&gt;mine&lt;/b&gt;.toml", "1", "0.700", "1", "0.850", "3", "1.150", "4", "2.200"],
			["balanced", "2", "0.900", "2", "0.920", "1", "0.960", "2", "1.100"],
			["raw", "3", "1.000", "3", "1.000", "2", "1.000", "1", "1.000"],
			["window:8", "3", "1.000", "4", "1.100", "4", "1.300", "3", "2.000"],
		]);
	});

	it("names dollars when costs are in dollars", async () => {
		const page = await replayPage({ ...fixture, billedIn: "us_dollars" });
		expect(page).toContain("in US dollars at the model’s prices");
		expect(page).toMatch(/<td class="first">\$[\d,.]+<\/td>/);
	});

	it("has no list for a single conversation, and no plots without data", async () => {
		const page = await replayPage({ report: replayFixture({ "a.json": 60 }).report, series: [] });
		expect(page).toContain("The conversation as a whole");
		expect(page).not.toMatch(/Each conversation|id="over-time"|× raw, worst/);
	});
});

describe("a self-contained page", () => {
	const parts = { title: "<i>", body: "", styles: ["a{}\r\nb{}"], data: null };

	it("hashes the text that a browser reads, with normalised line ends", () => {
		const { styles, styleHashes, scriptHashes } = readPage(selfContainedPage({ ...parts, scripts: ["1;\r2;"] }));
		expect(styles).toEqual(["a{}\nb{}"]);
		expect(styleHashes).toEqual([hashOf("a{}\nb{}")]);
		expect(scriptHashes).toEqual([hashOf("1;\n2;")]);
	});

	it.each(["'</script>'", "'</STYLE >'", "'<!--'"])("refuses a script that would end itself: %s", (script) => {
		expect(() => selfContainedPage({ ...parts, scripts: [script] })).toThrow("contains the tag that ends it");
	});
});

describe("the calls of a plot", () => {
	const nothing = { system: 0, user: 0, assistant: 0, placeholders: 0 };
	const { report } = fixture;

	it.prop([fc.integer({ min: 1, max: 3 * mostDrawnCalls }), fc.nat(), fc.integer({ min: 1, max: 50 })], {
		numRuns: 60,
	})("are few enough, in order, and keep the ends and peaks", (calls, seed, largest) => {
		const of = Array.from({ length: calls }, (_, call) => (Math.imul(call ^ seed, 0x9e3779b1) >>> 8) % largest);
		const context = of.map((results) => ({ ...nothing, results }));
		const series = [{ file: "a.json", policy: "raw", context, billed: of }];
		const data = replayPageData(report, { series, billedIn: "input_tokens" });
		const drawn = column(data, data.files[0]?.at ?? -1).map((call) => call - 1);
		if (calls <= mostDrawnCalls) {
			expect(drawn).toEqual(of.map((_, call) => call));
			return;
		}
		expect(drawn.length).toBeLessThanOrEqual(mostDrawnCalls);
		expect(drawn).toEqual([...new Set(drawn)].sort((a, b) => a - b));
		expect([drawn[0], drawn.at(-1)]).toEqual([0, calls - 1]);
		const shown = column(data, data.files[0]?.series[0]?.results ?? -1);
		expect(shown).toEqual(drawn.map((call) => of[call]));
		expect([Math.min(...shown), Math.max(...shown)]).toEqual([Math.min(...of), Math.max(...of)]);
	});
});

/** Undoes the differences, as the page does. */
function column({ columns }: ReplayPageData, place: number): number[] {
	let sum = 0;
	return (columns[place] ?? []).map((difference) => (sum += difference));
}

describe("the data of the plots", () => {
	it("is the measured data, call by call", () => {
		const { report, series } = replayFixture({ "a.json": 90, "b.json": 1 });
		const data = replayPageData(report, { series, billedIn: "input_tokens" });
		expect(data.files.map(({ file, calls }) => [file, calls])).toEqual([
			["a.json", 90],
			["b.json", 1],
		]);
		let compared = 0;
		for (const drawn of data.files)
			for (const one of drawn.series) {
				const { context, billed } =
					series.find(({ file, policy }) => file === drawn.file && policy === one.policy) ?? {};
				for (const part of ["system", "user", "assistant", "results", "placeholders"] as const)
					expect(column(data, one[part])).toEqual(context?.map((parts) => parts[part]));
				const packed = column(data, one.billed).map((value) => value / 10 ** data.billedDecimals);
				for (const [call, value] of packed.entries()) expect(value).toBeCloseTo(billed?.[call] ?? 0, -2);
				compared += 1;
			}
		expect(compared).toBe(8);
	});

	it("keeps the digits of small sums in dollars", () => {
		const { report, series } = replayFixture({ "a.json": 40 });
		const dear = series.map((one) => ({ ...one, billed: one.billed.map((tokens) => tokens * 3e-6) }));
		const data = replayPageData(report, { series: dear, billedIn: "us_dollars" });
		const last = column(data, data.files[0]?.series[0]?.billed ?? -1).at(-1) ?? 0;
		const expected = dear[0]?.billed.at(-1) ?? 0;
		expect(Math.abs(last / 10 ** data.billedDecimals / expected - 1)).toBeLessThan(1e-4);
	});

	it("has 2 000 calls of a longer conversation, and is small", () => {
		const { report, series } = replayFixture({ "long.json": 9_000 });
		const data = replayPageData(report, { series, billedIn: "input_tokens" });
		const at = column(data, data.files[0]?.at ?? -1);
		expect(data.files[0]?.calls).toBe(9_000);
		expect([at[0], at.at(-1)]).toEqual([1, 9_000]);
		expect(at.length).toBeLessThanOrEqual(2_000);
		expect(at.length).toBeGreaterThan(1_000);
		// Four policies of seven numbers a call, most of them small or shared.
		expect(JSON.stringify(data).length).toBeLessThan(200_000);
	});

	it("omits conversations without calls", () => {
		const { report, series } = replayFixture({ "empty.json": 0 });
		expect(replayPageData(report, { series, billedIn: "input_tokens" }).files).toEqual([]);
	});
});
