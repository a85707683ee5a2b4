import { chromium } from "playwright-core";
import type * as Fixture from "../pages/live-fixture.ts";
import { importBuilt } from "./import-built.ts";
import { atMost, duration, type Section, short } from "./section.ts";
import { median } from "./statistics.ts";

const updates = 30;
const conversations = 200;

/** Run in the page before its script: the time from an answer of the proxy until the page with its figures is painted. */
const measuring = `
	window.times = [];
	const read = Response.prototype.json;
	Response.prototype.json = async function () {
		const start = performance.now();
		const value = await read.call(this);
		requestAnimationFrame(() => setTimeout(() => window.times.push(performance.now() - start)));
		return value;
	};
`;

/** What the live page of a proxy costs with a long conversation. */
export async function livePage(): Promise<Section> {
	// Brings the parts of the page beside the compiled benchmarks.
	await importBuilt("proxy/live-pages.ts");
	const fixture = await import("../pages/live-fixture.ts");
	const browser = await chromium.launch({
		executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
		args: ["--no-sandbox", "--disable-gpu", "--no-first-run"],
	});
	try {
		const rows: string[][] = [];
		let slowest = 0;
		for (const [requests, isOpen] of [
			[60, false],
			[2_000, false],
			[2_000, true],
		] as const) {
			const { bytes, writing, painting } = await timeUpdates({ requests, isOpen, browser, fixture });
			slowest = Math.max(slowest, painting);
			const open = isOpen ? "open" : "closed";
			rows.push([
				`${short(requests)}, tables ${open}`,
				`${short(bytes / 1_000)} kB`,
				duration(writing),
				duration(painting),
			]);
		}
		return {
			title: "Live page",
			notes: [
				`The page of a proxy with ${conversations} conversations in Chromium, ${updates} updates, each of which adds a request; medians. \`Painted\` is the time from the answer until a frame with the new figures.`,
			],
			tables: [{ columns: ["requests of the conversation", "status", "written in", "painted"], rows }],
			targets: [atMost("an update with 2 000 requests", 200, slowest, "ms")],
		};
	} finally {
		await browser.close();
	}
}

type Browser = Awaited<ReturnType<typeof chromium.launch>>;

async function timeUpdates(of: {
	readonly requests: number;
	readonly isOpen: boolean;
	readonly browser: Browser;
	readonly fixture: typeof Fixture;
}) {
	const { requests, isOpen, browser } = of;
	const { folded, liveConversation, liveStatus, serveLive } = of.fixture;
	const others = Array.from({ length: conversations - 1 }, (_, index) =>
		folded(liveConversation(30, { id: `other-${index}` })),
	);
	const statusAfter = (more: number) => {
		const one = liveConversation(requests + more);
		const points = one.points.slice(-requests);
		return liveStatus([{ ...one, points, first_point: more + 1 }, ...others]);
	};
	const served = await serveLive(statusAfter(0));
	const page = await (await browser.newContext({ viewport: { width: 1600, height: 900 } })).newPage();
	const writing: number[] = [];
	let bytes = 0;
	try {
		await page.addInitScript(measuring);
		await page.goto(served.url);
		if (isOpen) await page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true");
		for (let more = 1; more <= updates; more += 1) {
			const status = statusAfter(more);
			const start = performance.now();
			bytes = JSON.stringify(status).length;
			writing.push(performance.now() - start);
			const known = await page.evaluate<number>("window.times.length");
			served.show(status);
			while ((await page.evaluate<number>("window.times.length")) === known) await page.waitForTimeout(20);
		}
		return { bytes, writing: median(writing), painting: median(await page.evaluate<number[]>("window.times")) };
	} finally {
		await page.context().close();
		await served.close();
	}
}
