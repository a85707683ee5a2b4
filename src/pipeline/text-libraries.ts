import { createRequire } from "node:module";
import { stripVTControlCharacters } from "node:util";
import type { TruncateOutputParameters } from "../engine/truncate/truncation-types.ts";

const require = createRequire(import.meta.url);

/** Tags within tags that are read at most. */
const maxDepth = 200;
/** Characters of a page that is converted, which takes the library some seconds; a longer one is cut as text. */
const longestPage = 4_000_000;

/** Words keep their spelling: names are told apart by it. */
const headings = ["h1", "h2", "h3", "h4", "h5", "h6"];

/** What the truncation strategies use of libraries. That for HTML is loaded with the first page. */
export const textLibraries = {
	stripAnsi: stripVTControlCharacters,
	htmlToText(html: string): string {
		if (html.length > longestPage) throw new RangeError(`Expected a page of at most ${longestPage} characters.`);
		const { convert } = require("html-to-text") as typeof import("html-to-text");
		return convert(html, {
			wordwrap: false,
			limits: { maxDepth, maxInputLength: longestPage },
			selectors: [
				{ selector: "a", options: { ignoreHref: true } },
				{ selector: "img", format: "skip" },
				...headings.map((selector) => ({ selector, options: { uppercase: false } })),
			],
		});
	},
} satisfies Pick<TruncateOutputParameters, "stripAnsi" | "htmlToText">;
