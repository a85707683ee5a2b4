import { describe, expect, it } from "vitest";
import { trialPage } from "../../src/pages/trial-page.ts";
import { scrollsSideways, violations } from "./page-probes.ts";
import { hasBrowser, startBrowser } from "./start-browser.ts";
import { trialFixture } from "./trial-fixture.ts";

const { show } = startBrowser();

describe.skipIf(!hasBrowser)("the page of a trial, in a browser", () => {
	it.each([
		[360, "light"],
		[1600, "dark"],
	] as const)("is accessible and independent of the network at %s px, %s", async (width, scheme) => {
		const { page, requests, complaints } = await show(await trialPage(trialFixture()), { width, scheme });
		expect(await violations(page)).toEqual([]);
		expect(await scrollsSideways(page)).toBe(false);
		expect(requests).toEqual([page.url()]);
		expect(complaints).toEqual([]);
		await page.context().close();
	});
});
