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
