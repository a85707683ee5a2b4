import { fileURLToPath } from "node:url";
import type { Frame, Page } from "playwright-core";
import { build } from "rolldown";
import { beforeAll, describe, expect, it } from "vitest";
import { workingConversation } from "../operations/working-conversation.ts";
import { scrollsSideways, violations } from "../pages/page-probes.ts";
import { hasBrowser, startBrowser } from "../pages/start-browser.ts";
import { patience } from "../support/patience.ts";
import { stdioSession } from "../support/stdio-session.ts";

const { show } = startBrowser();
const uri = "ui://palimpsest/context-report";
const mimeType = "text/html;profile=mcp-app";
const given = { messages: workingConversation().messages, context_window: 12_000 };

let host: string;
beforeAll(async () => {
	const input = fileURLToPath(new URL("../pages/app-host.js", import.meta.url));
	const { output } = await build({ input, write: false, output: { format: "iife" }, logLevel: "warn" });
	host = output[0].code;
});

/** What a host reads of the server, and the answers that it hands to the page. */
async function asHost() {
	const session = await stdioSession();
	const { tools } = await session.client.listTools();
	const { contents } = await session.client.readResource({ uri });
	return { ...session, tools, page: (contents[0] as { text: string }).text, contents };
}

async function frameOf(page: Page): Promise<Frame> {
	await expect.poll(() => page.frames().length, patience).toBe(2);
	return page.frames()[1] as Frame;
}

describe("the context report as an MCP App", () => {
	it("is named only by guard_context, is listed, and is read as a page that needs no origins", async () => {
		const { client, tools, contents } = await asHost();
		const apps = tools.map(({ name, _meta }) => [name, _meta?.ui]).filter(([, ui]) => ui !== undefined);
		expect(apps).toEqual([["guard_context", { resourceUri: uri }]]);
		const { resources } = await client.listResources();
		expect(resources.find((one) => one.uri === uri)).toMatchObject({ name: "context-report", mimeType });
		expect(contents).toEqual([
			{ uri, mimeType, text: expect.stringMatching(/^<!doctype html>/), _meta: { ui: { prefersBorder: true } } },
		]);
	});

	it("changes nothing for clients without Apps", async () => {
		const { client } = await asHost();
		const answer = await client.callTool({ name: "guard_context", arguments: { ...given, respond_with: "report" } });
		expect(answer._meta).toBe(undefined);
		expect(Object.keys(answer.structuredContent as object)).toEqual(["report", "context"]);
	});

	it.skipIf(!hasBrowser).each([
		[320, "dark"],
		[1100, "light"],
	] as const)("shows the answer of the tool in a host's frame: %s px, %s", async (width, theme) => {
		const { page: app, call } = await asHost();
		const result = await call("guard_context", { ...given, respond_with: "report" });
		const { page, requests, complaints } = await show("<!doctype html><title>Host</title><body style='margin:0'>", {
			width,
			scheme: "light",
		});
		await page.evaluate(host);
		await page.evaluate(`startHost(${JSON.stringify({ page: app, result, theme, width })})`);
		const frame = await frameOf(page);
		await expect.poll(() => frame.locator("table").count(), patience).toBe(3);
		const { context } = result.structuredContent as { context: { tokens: number; budget_tokens: number } };
		const held = `${context.tokens.toLocaleString("en")} tokens in 19 messages and 8 tool turns`;
		expect(await frame.locator(".lead").textContent()).toContain(held);
		const rows = (heading: string) => frame.getByRole("region", { name: `${heading}, table` }).locator("tbody tr");
		expect(await rows("The biggest tool results").count()).toBe(8);
		expect(await rows("The biggest tool results").first().textContent()).toContain("/p/src/");
		expect(await rows("What each preset would free and cost").count()).toBe(7);
		expect(await frame.locator("html").getAttribute("data-theme")).toBe(theme);
		expect(await violations(frame)).toEqual([]);
		expect(await scrollsSideways(frame)).toBe(false);
		const told = () => page.evaluate("told") as Promise<{ height: number }>;
		await expect.poll(async () => (await told()).height, patience).toBeGreaterThan(600);
		// The frame is as high as it says, so nothing of it scrolls.
		const hidden: number = await frame.evaluate("document.documentElement.scrollHeight - innerHeight");
		expect(hidden).toBeLessThanOrEqual(1);
		if (process.env.PALIMPSEST_PICTURES !== undefined) {
			// What is below the window is not painted in a frame of another origin.
			await page.setViewportSize({ width, height: 2_800 });
			await page.screenshot({ path: `${process.env.PALIMPSEST_PICTURES}/app-${width}-${theme}.png`, fullPage: true });
		}
		expect(requests.filter((address) => !/^(?:file:.*\.html|about:srcdoc)$/.test(address))).toEqual([]);
		expect(complaints.filter((said) => !said.startsWith("debug: "))).toEqual([]);
		await page.context().close();
	});

	it.skipIf(!hasBrowser)("shows the result of other calls, and errors", async () => {
		const { page: app, call } = await asHost();
		const edited = await call("guard_context", { ...given, context_window: 10_000, respond_with: "edits" });
		const failed = await call("guard_context", { ...given, context_window: -1 });
		const { page } = await show("<!doctype html><body>", { width: 900, scheme: "light" });
		await page.evaluate(host);
		await page.evaluate(`startHost(${JSON.stringify({ page: app, result: edited, theme: "light" })})`);
		const frame = await frameOf(page);
		const lead = () => frame.locator(".lead").textContent();
		await expect
			.poll(lead, patience)
			.toMatch(/^The conversation fits: [\d,]+ → [\d,]+ tokens, with a budget of 1,808\./);
		await page.evaluate(`bridge.sendToolResult(${JSON.stringify(failed)})`);
		await expect.poll(lead, patience).toBe("The tool answered without a context report.");
		await page.context().close();
	});
});
