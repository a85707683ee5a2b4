import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { PalimpsestError } from "../errors.ts";
import type { ContextReport } from "../operations/report.ts";
import { packageFile, version } from "../version.ts";

type PageAsset =
	| "live.css"
	| "live.js"
	| "page.css"
	| "replay.js"
	| "report.js"
	| "uplot.css"
	| "uplot.js"
	| "uplot-license.txt";

/** Reads a part that pages carry inside themselves. Throws `unreadable_file` if it is missing. */
export async function pageAsset(name: PageAsset): Promise<string> {
	try {
		return await readFile(packageFile(`assets/${name}`), "utf8");
	} catch (cause) {
		const hint = "install the package again, or run `npm run assets` in a checkout.";
		const message = `A page needs \`assets/${name}\`, which is not there: ${hint}`;
		throw new PalimpsestError("unreadable_file", message, { cause });
	}
}

interface Page {
	readonly title: string;
	readonly body: string;
	readonly styles: readonly string[];
	readonly scripts: readonly string[];
	readonly data: unknown;
	/** Whether its scripts may ask the server that it came from; no other server, in any case. */
	readonly asksItsServer?: boolean;
}

/** The content security policy of a page: only scripts and style sheets whose hashes it holds. Injected ones do not run. */
export function pagePolicy({ styles, scripts, asksItsServer = false }: Omit<Page, "title" | "body" | "data">): string {
	return [
		"default-src 'none'",
		`script-src ${scripts.map(inlined).map(hashOf).join(" ")}`,
		`style-src ${styles.map(inlined).map(hashOf).join(" ")}`,
		...(asksItsServer ? ["connect-src 'self'"] : []),
		"img-src data:",
		"base-uri 'none'",
		"form-action 'none'",
	].join("; ");
}

/** One HTML file that needs no other, with its content security policy. */
export function selfContainedPage(page: Page): string {
	const { title, body, styles, scripts, data } = page;
	const [sheets, programs] = [styles.map(inlined), scripts.map(inlined)];
	const policy = pagePolicy(page);
	return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="palimpsest">
<title>${escapeHtml(title)}</title>
${sheets.map((sheet) => `<style>${sheet}</style>`).join("\n")}
</head>
<body>
${body}
<script type="application/json" id="data">${embedJson(data)}</script>
${programs.map((program) => `<script>${program}</script>`).join("\n")}
</body>
</html>
`.toWellFormed();
}

/** A browser normalises line ends before it hashes. */
function inlined(source: string): string {
	const read = source.replace(/\r\n?/g, "\n").toWellFormed();
	if (/<\/(?:script|style)|<!--/i.test(read)) {
		throw new PalimpsestError("internal", "A script or style sheet of a page contains the tag that ends it.");
	}
	return read;
}

function hashOf(source: string): string {
	return `'sha256-${createHash("sha256").update(source, "utf8").digest("base64")}'`;
}

/**
 * For a `<script>`, which has no entities and reads on differently after `<!--` and `<script` (HTML, “script data
 * state”): every `<` is escaped. U+2028 and U+2029 end lines for some readers.
 */
function embedJson(value: unknown): string {
	const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
	return JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, escaped);
}

const entities: Readonly<Record<string, string>> = { "&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "#39" };

export function escapeHtml(text: string): string {
	return text.replace(/[&<>"']/g, (character) => `&${entities[character]};`);
}

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
