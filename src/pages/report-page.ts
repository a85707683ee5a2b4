import type { ContextReport } from "../operations/report.ts";
import { version } from "../version.ts";
import { pageAsset, selfContainedPage } from "./page.ts";

/**
 * The page of a context report: one HTML file that needs no network, in which people see what fills the context window
 * and what each preset would free and cost.
 *
 * @throws PalimpsestError `unreadable_file` where the parts that it carries are missing.
 */
export async function reportPage({ report }: { readonly report: ContextReport }): Promise<string> {
	return selfContainedPage({ ...(await reportFrame()), scripts: [await pageAsset("report-page.js")], data: report });
}

/**
 * The same page as an MCP App: without a report, which the host sends it once the tool has answered (`structuredContent`
 * is the report, or has it as its `report`). It asks for nothing either, so its resource needs no origins allowed.
 *
 * @throws PalimpsestError `unreadable_file` as above.
 */
export async function reportAppPage(): Promise<string> {
	return selfContainedPage({
		...(await reportFrame()),
		scripts: [await pageAsset("report-app.js")],
		data: { version },
	});
}

async function reportFrame() {
	return {
		title: "What fills the context window",
		styles: [await pageAsset("page.css")],
		body: `<a class="skip" href="#main">Skip to the content</a>
<header>
<p class="brand">palimpsest report</p>
<h1>What fills the context window</h1>
</header>
<main id="main" tabindex="-1">
<div id="report"><p class="lead">No report yet.</p></div>
</main>`,
	};
}
