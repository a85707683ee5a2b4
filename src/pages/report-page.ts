import type { ContextReport } from "../operations/report.ts";
import { version } from "../version.ts";
import { pageAsset, selfContainedPage } from "./page.ts";

/**
 * The page of a context report: one HTML file that needs no network and shows what fills the context window, and what
 * each preset would free and cost. Throws `unreadable_file` if a part of the page is missing.
 */
export function reportPage({ report }: { readonly report: ContextReport }): Promise<string> {
	return pageWith(report);
}

/**
 * The same page as an MCP App, without a report: the host passes it the tool's answer, whose `structuredContent` is
 * the report or has it as `context`.
 */
export function reportAppPage(): Promise<string> {
	return pageWith({ version });
}

/** The script `client/report.js` shows the report, or waits for the host's if the data has only a version. */
async function pageWith(data: ContextReport | { readonly version: string }): Promise<string> {
	return selfContainedPage({
		title: "What fills the context window",
		styles: [await pageAsset("page.css")],
		scripts: [await pageAsset("report.js")],
		data,
		body: `<a class="skip" href="#main">Skip to the content</a>
<header>
<p class="brand">palimpsest report</p>
<h1>What fills the context window</h1>
</header>
<main id="main" tabindex="-1">
<div id="report"><p class="lead">No report yet.</p></div>
</main>`,
	});
}
