import { describe, expect, it } from "vitest";
import { reportPage } from "../../src/pages/page.ts";
import { hashOf, readPage } from "./read-page.ts";
import { hostileName } from "./replay-fixture.ts";
import { reportFixture } from "./report-fixture.ts";

describe("the page of a context report", () => {
	it("allows only its own script and style sheet by their hashes, and loads nothing", async () => {
		const { policy, scripts, styles, scriptHashes, styleHashes, addresses } = readPage(
			await reportPage({ report: reportFixture() }),
		);
		expect(policy).toMatch(/^default-src 'none'; script-src 'sha256-/);
		expect([scripts.length, styles.length]).toEqual([1, 1]);
		expect(scriptHashes).toEqual(scripts.map(hashOf));
		expect(styleHashes).toEqual(styles.map(hashOf));
		expect(addresses).toEqual(["http://www.w3.org/2000/svg"]);
	});

	it("contains the report unchanged, with names", async () => {
		const report = reportFixture({ by_tool: [{ tool: hostileName, tokens: 1, results: 1 }] });
		const html = await reportPage({ report });
		expect(html.match(/<script\b/g)).toHaveLength(2);
		expect(readPage(html).data).toEqual(report);
	});
});
