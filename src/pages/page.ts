import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { PalimpsestError } from "../errors.ts";
import { packageFile } from "../version.ts";

/** What `npm run assets` puts beside `dist`, and the package carries. */
export type PageAsset =
	| "page.css"
	| "replay-page.js"
	| "report-app.js"
	| "report-page.js"
	| "uplot.css"
	| "uplot.js"
	| "uplot-license.txt";

/**
 * Reads a part that pages carry inside themselves.
 *
 * @throws PalimpsestError `unreadable_file` where it is not there.
 */
export async function pageAsset(name: PageAsset): Promise<string> {
	const place = packageFile(`assets/${name}`);
	try {
		return await readFile(place, "utf8");
	} catch (cause) {
		const hint = "install the package again, or run `npm run assets` in a checkout.";
		throw new PalimpsestError("unreadable_file", `A page needs \`assets/${name}\`, which is not there: ${hint}`, {
			cause,
		});
	}
}

/** What a page is made of. */
export interface PageParts {
	readonly title: string;
	/** HTML of the body. */
	readonly body: string;
	readonly styles: readonly string[];
	/** Run in order after the body was read. */
	readonly scripts: readonly string[];
	/** What the scripts find as JSON in the element `data`; without it they wait until somebody brings it. */
	readonly data?: unknown;
}

/**
 * An HTML page that is one file and asks for nothing: its content security policy forbids every request, and names each
 * script and style sheet inside it by its hash, so that nothing runs that somebody smuggled in by a name.
 *
 * @throws PalimpsestError `internal` for a script or style sheet that would end its own element.
 */
export function selfContainedPage({ title, body, styles, scripts, data }: PageParts): string {
	const [sheets, programs] = [styles.map(inlined), scripts.map(inlined)];
	const policy = [
		"default-src 'none'",
		`script-src ${programs.map(hashOf).join(" ")}`,
		`style-src ${sheets.map(hashOf).join(" ")}`,
		"img-src data:",
		"base-uri 'none'",
		"form-action 'none'",
	].join("; ");
	const embedded = data === undefined ? "" : `<script type="application/json" id="data">${embedJson(data)}</script>\n`;
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
${embedded}${programs.map((program) => `<script>${program}</script>`).join("\n")}
</body>
</html>
`.toWellFormed();
}

/** As a browser reads it, which is what it hashes: line ends are normalised before. */
function inlined(source: string): string {
	const read = source.replace(/\r\n?/g, "\n").toWellFormed();
	if (/<\/(?:script|style)|<!--/i.test(read)) {
		throw new PalimpsestError("internal", "A script or style sheet of a page holds what would end it.");
	}
	return read;
}

function hashOf(source: string): string {
	return `'sha256-${createHash("sha256").update(source, "utf8").digest("base64")}'`;
}

/**
 * A value as JSON that may stand in a `<script type="application/json">`. Inside one HTML knows no entities and ends it
 * at `</script`, while `<!--` and `<script` start states of their own (HTML, “script data state”): no `<` is left.
 * U+2028 and U+2029 end lines for readers that take JSON for JavaScript.
 */
export function embedJson(value: unknown): string {
	return JSON.stringify(value).replace(
		/[<>&\u2028\u2029]/g,
		(character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
	);
}

const entities: Readonly<Record<string, string>> = {
	"&": "&amp;",
	"<": "&lt;",
	">": "&gt;",
	'"': "&quot;",
	"'": "&#39;",
};

/** A text as it stands in HTML, between tags or in a quoted attribute. */
export function escapeHtml(text: string): string {
	return text.replace(/[&<>"']/g, (character) => entities[character] as string);
}
