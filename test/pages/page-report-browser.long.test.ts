import { describe, expect, it } from "vitest";
import { reportPage } from "../../src/pages/page.ts";
import { scrollsSideways, tabThrough, violations } from "./page-probes.ts";
import { hostileName } from "./replay-fixture.ts";
import { reportFixture } from "./report-fixture.ts";
import { hasBrowser, startBrowser } from "./start-browser.ts";

const { show } = startBrowser();

describe.skipIf(!hasBrowser)("the page of a context report, in a browser", () => {
	it.each([
		[360, "dark"],
		[1600, "light"],
	] as const)("is accessible and independent of the network at %s px, %s", async (width, scheme) => {
		const { page, requests, complaints } = await show(await reportPage({ report: reportFixture() }), { width, scheme });
		expect(await page.locator("table").count()).toBe(3);
		expect(await violations(page)).toEqual([]);
		expect(await scrollsSideways(page)).toBe(false);
		expect(requests).toEqual([page.url()]);
		expect(complaints).toEqual([]);
		await page.context().close();
	});

	it("shows the contents of the window, in words and in proportion", async () => {
		const { page } = await show(await reportPage({ report: reportFixture() }), { width: 1000, scheme: "light" });
		expect(await page.locator(".lead").textContent()).toBe(
			"129,277 tokens in 1,009 messages and 504 tool turns: 64.6% of the context window of claude-sonnet-4-5, 200,000 tokens. 54,723 tokens are left of the budget of 184,000. Prices: 70,723 left to the price step at 200,000.",
		);
		expect(await page.getByRole("img").getAttribute("aria-label")).toBe(
			"Tokens by part: system prompt 1,608, people's words 2,842, assistant's words 30,957, calls of tools 25,000, results of tools 68,870, free 70,723; the budget ends at 184,000.",
		);
		const share: number = await page.evaluate(
			"(([bar, part]) => part.width / bar.width)([...document.querySelectorAll('.window, .window > :nth-child(5)')].map((one) => one.getBoundingClientRect()))",
		);
		expect(share).toBeCloseTo(68_870 / 200_000, 2);
		const rows = (heading: string) => page.getByRole("region", { name: `${heading}, table` }).locator("tbody tr");
		const parts = rows("What fills it");
		expect(await parts.locator("th").allTextContents()).toEqual([
			...["system prompt", "people's words", "assistant's words", "calls of tools", "results of tools"],
			...["–\u00a0Read", "–\u00a0mcp__github__get_pull_request_review_comments_by_thread", "–\u00a0unknown"],
		]);
		expect(await parts.nth(5).locator("td").allTextContents()).toEqual(["102", "40,120", "31.0%", "30,000"]);
		expect(await page.locator("section", { hasText: "What fills it" }).locator("p").first().textContent()).toContain(
			"Masking by this policy frees 48,077 tokens (37.2%) of 390 results. 70,000 are written",
		);
		expect(await rows("The biggest tool results").count()).toBe(10);
		expect(await rows("The biggest tool results").nth(3).locator("td").allTextContents()).toEqual([
			...["6,600", "150", "no", "yes", "5.1%", "46", "–"],
		]);
		const names = rows("The biggest tool results").locator("th");
		expect(await names.nth(2).locator("bdi").allTextContents()).toEqual(["unknown"]);
		expect(await names.nth(3).locator("bdi").allTextContents()).toEqual([
			"Read",
			"packages/agent/src/module-3/index.ts",
		]);
		expect(await rows("What each preset would free and cost").first().locator("td").allTextContents()).toEqual([
			...["81,200", "48,077", "37.2%", "yes", "390", "3", "0", "70,000", "17 calls"],
		]);
		await page.context().close();
	});

	it("handles unknown values, an overfull window, and an empty report", async () => {
		const unknown = reportFixture({ model: null, context_window: null, budget_tokens: null });
		const first = await show(await reportPage({ report: unknown }), { width: 1000, scheme: "dark" });
		expect(await first.page.locator(".lead").textContent()).toContain("How large the context window is, is not known.");
		const overfull = reportFixture({ context_window: 100_000, budget_tokens: 92_000 });
		const second = await show(await reportPage({ report: overfull }), { width: 360, scheme: "light" });
		expect(await second.page.locator(".lead").textContent()).toContain("37,277 tokens over the budget of 92,000");
		expect(await scrollsSideways(second.page)).toBe(false);
		const none = { tokens: 0, messages: 0, tool_turns: 0, by_part: [], biggest_results: [], presets: [] };
		const third = await show(await reportPage({ report: reportFixture(none) }), { width: 360, scheme: "light" });
		expect(await third.page.locator("table").count()).toBe(0);
		for (const { page, complaints } of [first, second, third]) {
			if (page !== first.page) expect(await violations(page)).toEqual([]);
			expect(complaints).toEqual([]);
			await page.context().close();
		}
	});

	it("escapes names, and can be read with the keyboard", async () => {
		const report = reportFixture({
			model: hostileName,
			by_part: [
				{
					part: "tool_results",
					tokens: 1,
					groups: [{ name: hostileName, tokens: 1, count: 1, freed_tokens: 0 }],
				},
			],
		});
		const { page, complaints } = await show(await reportPage({ report }), { width: 360, scheme: "light" });
		expect(await page.locator(".name", { hasText: "alert(1)" }).count()).toBe(1);
		const met = await tabThrough(page);
		expect(met.map(({ name }) => name)).toEqual(
			expect.arrayContaining(["Skip to the content", "The biggest tool results, table"]),
		);
		expect(met.filter(({ visible }) => !visible)).toEqual([]);
		expect(complaints).toEqual([]);
		await page.context().close();
	});
});
