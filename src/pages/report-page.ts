import type { ContextReport } from "../operations/report.ts";
import { version } from "../version.ts";
import { pageAsset, selfContainedPage } from "./page.ts";

/** The page of a context report: one HTML file that needs no network. Throws `unreadable_file`. */
export const reportPage = ({ report }: { readonly report: ContextReport }) => pageWith(report);

/** The same page as an MCP App: the host passes it the report, alone or as `context` of a tool's answer. */
export const reportAppPage = () => pageWith({ version });

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
