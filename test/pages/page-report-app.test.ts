import { fileURLToPath } from "node:url";
import { build } from "rolldown";
import { describe, expect, it } from "vitest";
import { reportAppPage } from "../../src/pages/page.ts";
import { version } from "../../src/version.ts";
import { patience } from "../support/patience.ts";
import { hashOf, readPage } from "./read-page.ts";
import { reportFixture } from "./report-fixture.ts";
import { hasBrowser, startBrowser } from "./start-browser.ts";

const { show } = startBrowser();

async function host(): Promise<string> {
	const input = fileURLToPath(new URL("app-host.js", import.meta.url));
	const { output } = await build({ input, write: false, output: { format: "iife" }, logLevel: "warn" });
	return output[0].code;
}

describe("the context report as an MCP App", () => {
	it("loads nothing, and runs only its own script", async () => {
		const html = await reportAppPage();
		const { policy, scripts, scriptHashes, addresses } = readPage(html);
		expect(policy).toMatch(/^default-src 'none'; script-src 'sha256-/);
		expect(scriptHashes).toEqual(scripts.map(hashOf));
		expect(addresses).toEqual(["http://www.w3.org/2000/svg"]);
		expect(Buffer.byteLength(html)).toBeLessThan(40_000);
	});

	it.skipIf(!hasBrowser)("shows the host's data in the host's scheme, and reports its height", async () => {
		const { page, requests, complaints } = await show("<!doctype html><body>", { width: 900, scheme: "light" });
		await page.evaluate(await host());
		const shown = {
			page: await reportAppPage(),
			theme: "dark",
			result: resultOf({ report: {}, context: reportFixture() }),
		};
		await page.evaluate(`startHost(${JSON.stringify(shown)})`);
		const app = page.frameLocator("iframe");
		await expect.poll(() => app.locator("table").count(), patience).toBe(3);
		expect(await app.locator(".lead").textContent()).toContain("129,277 tokens in 1,009 messages");
		expect(await app.locator("html").getAttribute("data-theme")).toBe("dark");
		const told = () => page.evaluate("told") as Promise<{ initialized: boolean; height: number; app: object }>;
		expect(await told()).toMatchObject({ initialized: true, app: { name: "palimpsest", version } });
		await expect.poll(async () => (await told()).height, patience).toBeGreaterThan(800);

		await page.evaluate("bridge.setHostContext({ theme: 'light' })");
		await expect.poll(() => app.locator("html").getAttribute("data-theme"), patience).toBe("light");
		await page.evaluate(`bridge.sendToolResult(${JSON.stringify(resultOf(reportFixture({ biggest_results: [] })))})`);
		await expect.poll(() => app.locator("table").count(), patience).toBe(2);
		await page.evaluate(`bridge.sendToolResult(${JSON.stringify(resultOf({ report: { changed: true } }))})`);
		await expect
			.poll(() => app.locator(".lead").textContent(), patience)
			.toBe("The tool answered without a context report.");
		await page.evaluate("bridge.teardownResource({})");
		expect(requests.filter((address) => !/^(?:file:.*page-1\.html|about:srcdoc)$/.test(address))).toEqual([]);
		// The host tells of each message.
		expect(complaints.filter((said) => !said.startsWith("debug: "))).toEqual([]);
		await page.context().close();
	});
});

function resultOf(structuredContent: object) {
	return { content: [{ type: "text", text: "…" }], structuredContent };
}
