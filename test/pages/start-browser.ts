import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll } from "vitest";
import { patience } from "../support/patience.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";

/** Whether a browser can be started here; in CI it has to. */
export const hasBrowser = process.env.CI !== undefined || existsSync(executablePath);

if (!hasBrowser) process.stderr.write("Skipped: Chromium is not installed (Debian: apt-get install chromium).\n");

/** A page as it is shown, and what it did that it should not have. */
export interface ShownPage {
	readonly page: Page;
	/** Addresses that it asked for, its own first. */
	readonly requests: readonly string[];
	/** What it wrote to the console, threw, or asked people in a dialog. */
	readonly complaints: readonly string[];
}

export interface Showing {
	readonly width: number;
	readonly scheme: "light" | "dark";
}

/** Starts one browser for the tests of a file, with a profile of its own, and shows pages in it: from HTML in a file, or by address. */
export function startBrowser() {
	let browser: Browser;
	let folder: string;
	let shown = 0;
	beforeAll(async () => {
		if (!hasBrowser) return;
		folder = await scratchFolder();
		const quiet = ["--disable-quic", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
		browser = await chromium.launch({
			...patience,
			executablePath,
			args: ["--no-sandbox", "--disable-gpu", "--no-first-run", ...quiet],
		});
	});
	afterAll(() => browser?.close());
	const visit = async (
		url: string,
		{
			width,
			scheme,
			runsScripts = true,
			prepare,
		}: Showing & {
			readonly runsScripts?: boolean;
			/** Before the page is asked for. */
			readonly prepare?: (page: Page) => Promise<unknown>;
		},
	): Promise<ShownPage> => {
		const viewport = { width, height: 800 };
		const context = await browser.newContext({ viewport, colorScheme: scheme, javaScriptEnabled: runsScripts });
		const page = await context.newPage();
		const [requests, complaints]: [string[], string[]] = [[], []];
		page.on("request", (request) => requests.push(request.url()));
		page.on("console", (message) => complaints.push(`${message.type()}: ${message.text()}`));
		page.on("pageerror", (error) => complaints.push(`${error}`));
		page.on("dialog", (dialog) => {
			complaints.push(`dialog: ${dialog.message()}`);
			void dialog.dismiss();
		});
		await prepare?.(page);
		await page.goto(url);
		return { page, requests, complaints };
	};
	return {
		visit,
		async show(html: string, showing: Showing) {
			shown += 1;
			const file = join(folder, `page-${shown}.html`);
			await writeFile(file, html);
			return visit(pathToFileURL(file).href, showing);
		},
	};
}
