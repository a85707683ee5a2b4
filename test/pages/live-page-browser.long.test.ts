import { afterEach, describe, expect, it } from "vitest";
import type { LiveStatus } from "../../src/pages/live-data.ts";
import { pageAddress } from "../../src/proxy/keys.ts";
import { early, play, startPlayed } from "../proxy/played.ts";
import { requestOf, turnsOf } from "../proxy/sessions.ts";
import { keys, send } from "../proxy/upstream.ts";
import { patience } from "../support/patience.ts";
import { liveConversation, liveStatus, serveLive } from "./live-fixture.ts";
import { paintedPlots, pictures, scrollsSideways, tabThrough, violations } from "./page-probes.ts";
import { hostileName } from "./replay-fixture.ts";
import { hasBrowser, startBrowser } from "./start-browser.ts";

const { visit } = startBrowser();

const one = liveConversation(60);
const other = liveConversation(9, {
	...{ id: "conversation-2", program: "codex", folder: "gateway", model: "gpt-5.6-codex" },
	...{ usd: null, usd_saved: null, unpriced_requests: 9, usd_untold_requests: 9 },
});

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
	for (const close of closing.splice(0).reverse()) await close();
});

/** The page in a browser whose clock the test moves. */
async function open(status: LiveStatus, showing: Partial<Parameters<typeof visit>[1]> = {}) {
	const served = await serveLive(status);
	const shown = await visit(served.url, {
		...{ width: 1000, scheme: "light" as const },
		prepare: (page) => page.clock.install(),
		...showing,
	});
	closing.push(
		() => served.close(),
		() => shown.page.context().close(),
	);
	const text = (selector: string) => shown.page.locator(selector).textContent();
	return { ...shown, served, text, pass: () => shown.page.clock.runFor(3_100) };
}

describe.skipIf(!hasBrowser)("the live page, in a browser", () => {
	it.each([
		[390, "dark"],
		[1600, "light"],
	] as const)("is drawn, accessible, and asks its server alone at %s px, %s", async (width, scheme) => {
		const { page, requests, complaints, served, pass } = await open(liveStatus([one, other]), { width, scheme });
		const [plot] = await paintedPlots(page);
		expect(plot?.painted).toBeGreaterThan(500);
		expect(plot?.colours).toBeGreaterThanOrEqual(4);
		await page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true");
		await expect.poll(() => page.locator("table").count(), patience).toBe(5);
		expect(await violations(page)).toEqual([]);
		expect(await scrollsSideways(page)).toBe(false);
		const breaks = page.locator("#breaks .scrolls");
		expect(await breaks.evaluate((one) => one.scrollWidth <= one.clientWidth)).toBe(true);
		await pass();
		await expect.poll(() => served.asked.length, patience).toBeGreaterThan(2);
		expect([...new Set(requests)]).toEqual([served.url, new URL("status?conversation=", served.url).href]);
		expect(complaints).toEqual([]);
	});

	it("updates in place: what is open, chosen or focused stays, and figures stay when the proxy ends", async () => {
		const { page, served, text, pass } = await open(liveStatus([one, other]));
		await page.locator("#results summary").click();
		const region = page.getByRole("region", { name: "Results, the latest first" });
		await expect.poll(() => region.locator("tbody tr").count(), patience).toBe(20);
		await page.evaluate("document.querySelector('#results .scrolls').scrollTop = 90");
		await page.locator("#request").fill("24");
		const link = region.locator("a").nth(6);
		await link.focus();
		const focused = await link.getAttribute("href");
		expect(focused).toMatch(/^originals\/r\d+$/);
		const top = (): Promise<number> =>
			page.evaluate(`Math.round(document.querySelector('a[href="${focused}"]').getBoundingClientRect().top)`);
		const [before, at] = [await pictures(page), await top()];
		expect(await text("#readout")).toBe("Request 24 of 60");

		served.show(liveStatus([liveConversation(72), other]));
		await pass();
		await expect.poll(() => text("#tiles > :last-child .value"), patience).toBe("81");
		expect(await region.locator("tbody tr").count()).toBe(24);
		expect(await page.evaluate("document.activeElement.getAttribute('href')")).toBe(focused);
		await expect.poll(top, patience).toBe(at);
		expect(await text("#readout")).toBe("Request 24 of 72");
		expect((await pictures(page))[0]).not.toBe(before[0]);
		expect(await text("#connection")).toBe("Live");

		await served.close();
		for (let asked = 0; asked < 2; asked += 1) {
			await pass();
			await page.waitForTimeout(50);
		}
		await expect.poll(() => text("#connection"), patience).toMatch(/^The proxy has ended\. These are its figures of /);
		expect(await text("#tiles > :last-child .value")).toBe("81");
		expect(await region.locator("tbody tr").count()).toBe(24);
	});

	it("shows the conversation that is chosen, by the list or in the table", async () => {
		const { page, text, complaints } = await open(liveStatus([one, other]));
		expect(await text("#subject")).toMatch(/^claude · webshop · claude-sonnet-4-5 · /);
		await page.locator("#conversation").selectOption("conversation-2");
		await expect.poll(() => text("#subject"), patience).toMatch(/^codex · gateway · gpt-5\.6-codex · /);
		expect(await text("#readout")).toMatch(/^Request 9 of 9/);
		expect(await text("#facts > :first-child dd")).toBe("unknown");
		await page.getByRole("button", { name: "claude · webshop" }).click();
		await expect.poll(() => text("#readout"), patience).toMatch(/^Request 60 of 60/);
		expect(await page.locator("#conversation").inputValue()).toBe("conversation-1");
		expect(complaints).toEqual([]);
	});

	it("can be read with the keyboard, and describes each mark in words", async () => {
		const { page, text } = await open(liveStatus([one, other]));
		const met = await tabThrough(page);
		expect(met.map(({ name }) => name)).toEqual(
			expect.arrayContaining(["Skip to the content", "conversation", "request", "Cache breaks, the latest first"]),
		);
		expect(met.filter(({ visible }) => !visible)).toEqual([]);
		await page.locator("#request").press("Home");
		for (let presses = 1; presses < 12; presses += 1) await page.locator("#request").press("ArrowRight");
		expect(await page.locator("#request").getAttribute("aria-valuetext")).toMatch(
			/^request 12: [\d,]+ tokens sent, [\d,]+ unedited; 4 masked \(the cache had expired\); the cache broke: masking: 4 results, 14,200 tokens written again$/,
		);
		expect(await text("#legend")).toContain("4 masked (the cache had expired)");
		expect(await text("#breaks-lead")).toBe("5 breaks: 71,000 tokens written to the cache again, $0.27.");
	});

	it("escapes names, waits for the first request, and has its figures without a script", async () => {
		const hostile = { id: hostileName, program: hostileName, folder: hostileName, model: hostileName };
		const named = await open(liveStatus([liveConversation(3, hostile)]));
		expect(await named.text("#subject")).toContain("alert(1)");
		expect(named.complaints).toEqual([]);
		// A long name leaves the figures beside it in view.
		const long = { program: "p".repeat(40), folder: "f".repeat(60), model: "m".repeat(100) };
		named.served.show(liveStatus([liveConversation(3, long)]));
		await named.pass();
		const figure = named.page.locator("#conversations tbody td").first();
		await expect.poll(async () => (await figure.boundingBox())?.x, patience).toBeLessThan(500);
		const empty = await open(liveStatus([]));
		expect(await empty.page.locator("#empty").isVisible()).toBe(true);
		empty.served.show(liveStatus([one]));
		await empty.pass();
		await expect.poll(() => empty.page.locator("#plot canvas").count(), patience).toBe(1);
		expect(empty.complaints).toEqual([]);
		const plain = await open(liveStatus([one]), { runsScripts: false, prepare: async () => {} });
		expect(await plain.text("noscript")).toContain("60 requests, 21 of them edited");
		expect(await plain.page.locator("main").isVisible()).toBe(false);
	});

	it("draws the latest 2,000 requests", async () => {
		const long = liveConversation(2_000, { requests: 2_500, first_point: 501 });
		const { page, text } = await open(liveStatus([long]));
		expect(await text("#readout")).toMatch(/^Request 2,500 of 2,500/);
		const [plot] = await paintedPlots(page);
		expect(plot?.painted).toBeGreaterThan(500);
		expect(await text("#points summary")).toBe("Tokens and bill of each request: the latest 2,000 of 2,500");
		expect(await text("#results summary")).toMatch(/^Each result, with its original: \d+$/);
		await page.locator("#points summary").click();
		const rows = page.locator("#points tbody tr");
		await expect.poll(() => rows.count(), patience).toBe(200);
		await page.getByRole("button", { name: "Show 1,800 more" }).click();
		await expect.poll(() => rows.count(), patience).toBe(2_000);
		expect(await rows.last().locator("th").textContent()).toBe("501");
	});

	it("follows a session through a real proxy, to its last request", async () => {
		const { start } = await startPlayed({ policy: early });
		const proxy = await start();
		const turns = turnsOf(7, 6_000);
		await play(proxy, turns.slice(0, 3));
		const answers: string[] = [];
		const shown = await visit(pageAddress(proxy.url, keys), {
			...{ width: 1000, scheme: "light" },
			prepare: async (page) => page.on("response", (answer) => void answers.push(answer.url())),
		});
		closing.push(() => shown.page.context().close());
		const text = (selector: string) => shown.page.locator(selector).textContent();
		expect(await text("#readout")).toMatch(/^Request 3 of 3/);
		await play(proxy, turns.slice(0, 5), { from: 4 });
		await expect.poll(() => text("#readout"), patience).toMatch(/^Request 5 of 5/);
		expect(await text("#edits-lead")).toMatch(/^2 results: [\d,]+ → [\d,]+ tokens\.$/);
		await expect.poll(() => shown.requests.length - answers.length, patience).toBeGreaterThan(0);
		await send(proxy.url, requestOf("anthropic", turns));
		await proxy.close();
		await expect.poll(() => text("#connection"), patience).toMatch(/^The proxy has ended/);
		expect(await text("#readout")).toMatch(/^Request 6 of 6/);
		expect(shown.complaints.filter((one) => !one.includes("ERR_CONNECTION_REFUSED"))).toEqual([]);
	});
});
