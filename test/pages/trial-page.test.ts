import { beforeAll, describe, expect, it } from "vitest";
import { trialPage } from "../../src/pages/trial-page.ts";
import { hashOf, readPage } from "./read-page.ts";
import { trialFixture } from "./trial-fixture.ts";

const report = trialFixture();

let html: string;
beforeAll(async () => {
	html = await trialPage(report);
});

const rowsOf = (table: string) =>
	Array.from(table.matchAll(/<tr><th scope="row"><bdi>(.*?)<\/bdi><\/th>(.*?)<\/tr>/g), ([, name = "", cells = ""]) => [
		name,
		...Array.from(cells.matchAll(/<td>([^<]*)<\/td>/g), ([, cell = ""]) => cell),
	]);

describe("the page of a trial", () => {
	it("has no script and asks for nothing", () => {
		const { policy, scripts, styles, styleHashes, addresses, data } = readPage(html);
		expect(policy).toMatch(/^default-src 'none'; script-src ;/);
		expect(scripts).toEqual([]);
		expect(styleHashes).toEqual(styles.map(hashOf));
		expect(addresses).toEqual([]);
		expect(html).not.toMatch(/\b(?:src|srcset|action|style)=|<(?:link|iframe|object|embed|base)\b|@import|url\(/);
		expect(data).toEqual(JSON.parse(JSON.stringify(report)));
	});

	it("escapes names everywhere", () => {
		expect(html.match(/<script\b/g)).toHaveLength(1);
		expect(html).toContain("&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt; &quot;a&quot;");
	});

	it("gives each arm, each difference, each task and each failure", () => {
		const [, arms = "", palimpsest = "", blind = "", tasks = "", failures = ""] = html.split("<table");
		expect(rowsOf(arms).map((cells) => cells.slice(0, 5))).toEqual([
			["raw", "8", "8", "68 % to 100 %", "0"],
			["palimpsest", "7", "7", "65 % to 100 %", "1"],
			["blind", "3", "8", "14 % to 69 %", "0"],
		]);
		expect(rowsOf(palimpsest)[0]).toEqual([
			"Solved",
			"0 points",
			expect.stringMatching(/^−\d+ points to \+\d+ points$/),
		]);
		expect(rowsOf(palimpsest)[1]?.[1]).toBe("−0.1200");
		expect(rowsOf(blind)[0]?.[1]).toBe("−63 points");
		expect(rowsOf(tasks)[0]).toEqual([
			"incident",
			"3 of 3",
			"3 of 3",
			"1 of 3",
			"0 points",
			"−0.1200",
			"−67 points",
			"−0.2400",
		]);
		expect(rowsOf(failures)[0]).toEqual(["stock", "palimpsest, trial 2", "program failed", "ended with exit code 1"]);
		expect(rowsOf(failures)).toHaveLength(4);
		expect(html).toContain("blind: 3 of 8, 14 % to 69 %");
	});
});
