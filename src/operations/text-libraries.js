import { createRequire } from "node:module";
import { stripVTControlCharacters } from "node:util";

const require = createRequire(import.meta.url);
const maxDepth = 200;
/** The parser looks through all open elements at each tag. */
const mostOpen = 500;
/** Parsing takes seconds for this; a longer page is truncated as text. */
const longestPage = 4_000_000;
/** Headings keep their case, because names depend on it. */
const headings = ["h1", "h2", "h3", "h4", "h5", "h6"];
export const textLibraries = {
	stripAnsi: stripVTControlCharacters,
	htmlToText(html) {
		if (html.length > longestPage) throw new RangeError(`Expected a page of at most ${longestPage} characters.`);
		checkNesting(html);
		const { convert } = require("html-to-text");
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
};
/** The parser of html-to-text has no limit of its own. */
function checkNesting(html) {
	const { Parser } = require("htmlparser2");
	let open = 0;
	const onopentagname = () => {
		open += 1;
		if (open > mostOpen) throw new RangeError(`Expected a page with at most ${mostOpen} elements open at once.`);
	};
	const onclosetag = () => {
		open -= 1;
	};
	new Parser({ onopentagname, onclosetag }).end(html);
}
