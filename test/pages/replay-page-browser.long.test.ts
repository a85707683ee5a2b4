import { beforeAll, describe, expect, it } from "vitest";
import { replayPage } from "../../src/pages/replay-page.ts";
import { patience } from "../support/patience.ts";
import { paintedPlots, pictures, scrollsSideways, tabThrough, violations } from "./page-probes.ts";
import { hostileName, policyNames, replayFixture } from "./replay-fixture.ts";
import { hasBrowser, startBrowser } from "./start-browser.ts";

const { show } = startBrowser();
let html: string;
beforeAll(async () => {
	html = await replayPage(replayFixture({ "first.json": 24, [hostileName]: 12, "long.json": 5_000, "one.json": 1 }));
});

describe.skipIf(!hasBrowser)("the page of a replay, in a browser", () => {
	it.each([
		[360, "dark"],
		[1600, "light"],
	] as const)("is drawn, accessible and independent of the network at %s px, %s", async (width, scheme) => {
		const { page, requests, complaints } = await show(html, { width, scheme });
		const plots = await paintedPlots(page);
		expect(plots).toHaveLength(3);
		for (const { painted, colours } of plots) {
			expect(painted).toBeGreaterThan(500);
			expect(colours).toBeGreaterThanOrEqual(3);
		}
		await page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true");
		await expect.poll(() => page.locator("table").count(), patience).toBe(9);
		expect(await violations(page)).toEqual([]);
		expect(await scrollsSideways(page)).toBe(false);
		expect(requests).toEqual([page.url()]);
		expect(complaints).toEqual([]);
		await page.context().close();
	});

	it("draws the chosen conversation and policy", async () => {
		const { page, complaints } = await show(html, { width: 1000, scheme: "light" });
		const readout = page.locator("#context-readout");
		expect(await readout.textContent()).toContain("Call 24 under balanced: ");
		await page.locator("#policy").selectOption("window:8");
		const before = await pictures(page);
		expect(await readout.textContent()).toBe("Call 24 under window:8: 17,540 tokens");
		await page.locator("#policy").selectOption("balanced");
		const after = await pictures(page);
		expect(after[0]).toBe(before[0]);
		expect([after[1] === before[1], after[2] === before[2]]).toEqual([false, false]);
		expect(await readout.textContent()).toContain("under balanced: ");
		expect(await page.locator("#context-plot").getAttribute("aria-label")).toMatch(
			/^Context of 24 LLM calls of first\.json under balanced: from [\d,]+ tokens at the first call/,
		);
		await page.locator("#file").selectOption({ label: "long.json" });
		expect(await page.locator("#policy").inputValue()).toBe("balanced");
		expect(await page.locator("#drawn").textContent()).toMatch(/^Drawn from [\d,]+ of its 5,000 LLM calls\.$/);
		expect(await readout.textContent()).toContain("Call 5,000 under balanced");
		await page.locator("#file").selectOption({ index: 1 });
		expect(await page.locator("#cost-plot").getAttribute("aria-label")).toContain("<b>mine</b>.toml");
		await page.locator("#file").selectOption({ label: "one.json" });
		expect(await readout.textContent()).toBe("Call 1 under balanced: 3,125 tokens");
		expect(complaints).toEqual([]);
		await page.context().close();
	});

	it("shows the tokens and the cost of the call under the pointer", async () => {
		const { page } = await show(html, { width: 1000, scheme: "light" });
		await page.locator("#cost-plot").scrollIntoViewIfNeeded();
		const over = page.locator("#cost-plot .u-over");
		const { width = 0 } = (await over.boundingBox()) ?? {};
		await over.hover({ position: { x: width / 2, y: 50 } });
		await expect
			.poll(() => page.locator("#context-readout").textContent(), patience)
			.toMatch(/^Call (?:12|13) under balanced: [\d,]+ tokens$/);
		expect(await page.locator("#cost-readout").textContent()).toMatch(/^Until call (?:12|13),/);
		expect(await page.locator("#cost-legend li").first().textContent()).toMatch(/^raw[\d,]+$/);
		expect(Number(await page.locator("#call").inputValue())).toBeLessThan(13);
		await page.context().close();
	});

	it("works with the keyboard only, and shows the focus", async () => {
		const { page } = await show(html, { width: 1000, scheme: "dark" });
		const met = await tabThrough(page);
		expect(met.filter(({ visible }) => !visible)).toEqual([]);
		const names = met.map(({ name }) => name);
		expect(names[0]).toBe("Skip to the content");
		const controls = ["file", "policy", "call", "first.json", "long.json", "All figures over 4 conversations"];
		const tables = ["Recall against size", "Context by part", "Cost so far"].map((plot) => `${plot} as a table`);
		expect(names).toEqual(expect.arrayContaining([...controls, ...tables]));
		await page.locator("#policy").focus();
		await page.keyboard.press("ArrowDown");
		expect(await page.locator("#policy").inputValue()).toBe(policyNames[3]);
		await page.locator("#call").focus();
		await page.keyboard.press("Home");
		await page.keyboard.press("ArrowRight");
		expect(await page.locator("#context-readout").textContent()).toMatch(/^Call 2 under <b>mine<\/b>\.toml: /);
		expect(await page.locator("#call").getAttribute("aria-valuetext")).toMatch(
			/^call 2: [\d,]+ tokens under <b>mine<\/b>\.toml$/,
		);
		await page.context().close();
	});

	it("repeats its plots in tables, which follow the selection", async () => {
		const { page } = await show(html, { width: 1000, scheme: "light" });
		await page.locator("#context-data > summary").click();
		const table = page.locator("#context-data table");
		await page.locator("#file").selectOption({ index: 1 });
		expect(await table.locator("caption").textContent()).toBe("Tokens by part, balanced");
		expect(await table.locator("tbody tr").count()).toBe(12);
		expect(await table.locator("tbody tr").first().locator("td").allTextContents()).toEqual([
			...["1,500", "800", "300", "500", "25", "3,125"],
		]);
		await page.locator("#file").selectOption({ label: "long.json" });
		expect(await table.locator("tbody tr").count()).toBe(60);
		expect(await table.locator("caption").textContent()).toMatch(/; 60 of [\d,]+ rows$/);
		await page.context().close();
	});

	it("follows changes of scheme and width while it is open", async () => {
		const { page } = await show(html, { width: 1600, scheme: "light" });
		const [light] = await pictures(page);
		await page.emulateMedia({ colorScheme: "dark" });
		await expect.poll(() => pictures(page).then(([now]) => now === light), patience).toBe(false);
		const [dark] = await pictures(page);
		await page.setViewportSize({ width: 360, height: 800 });
		await expect.poll(() => page.evaluate("document.querySelector('canvas').clientWidth"), patience).toBeLessThan(360);
		expect((await pictures(page))[0]).not.toBe(dark);
		expect(await scrollsSideways(page)).toBe(false);
		await page.context().close();
	});
});
