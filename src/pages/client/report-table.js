import { formatCount } from "../replay-page.ts";
import { element } from "./elements.js";

/**
 * A heading, a note where there is something to explain, and a table; or a sentence where it would be empty.
 *
 * @param {{ heading: string, note?: string, headings: readonly string[], rows: readonly (readonly (Node | string)[])[], empty: string }} content
 */
export function tableBlock({ heading, note, headings, rows, empty }) {
	const title = element("h2", {}, [heading]);
	const block = element("section", { class: "block", "aria-label": heading }, [title]);
	if (rows.length === 0) {
		block.append(element("p", {}, [empty]));
		return block;
	}
	if (note !== undefined) block.append(element("p", {}, [note]));
	const head = headings.map((one, index) =>
		element("th", index === 0 ? { scope: "col", class: "subject" } : { scope: "col" }, [one]),
	);
	const body = rows.map(([name = "", ...cells]) =>
		element("tr", {}, [element("th", { scope: "row" }, [name]), ...cells.map((cell) => element("td", {}, [cell]))]),
	);
	const table = element("table", { class: "figures report" }, [
		element("caption", {}, [heading]),
		element("thead", {}, [element("tr", {}, head)]),
		element("tbody", {}, body),
	]);
	block.append(
		element("div", { class: "scrolls", role: "region", tabindex: 0, "aria-label": `${heading}, table` }, [table]),
	);
	return block;
}

/**
 * A name with a bar under it. The number that it shows stands in the next cell, so readers of the page need not be told.
 *
 * @param {string} name
 * @param {number} part from 0 to 1
 * @param {string | undefined} property the custom property of its colour
 * @param {string | null} detail what stands under the name
 */
export function barCell(name, part, property = "--part-other", detail = null) {
	const bar = element("span", { class: "bar", "aria-hidden": "true" }, [element("span")]);
	const filled = /** @type {HTMLElement} */ (bar.firstChild);
	filled.style.width = `${(100 * Math.min(1, Math.max(0, part || 0))).toFixed(2)}%`;
	filled.style.background = `var(${property})`;
	const cell = document.createDocumentFragment();
	cell.append(element("bdi", { class: "name" }, [name]));
	if (detail !== null) cell.append(element("bdi", { class: "name detail" }, [detail]));
	cell.append(bar);
	return cell;
}

/**
 * A word that stands out by more than its colour.
 *
 * @param {boolean} value
 * @param {"plain" | "judged"} tone
 */
export function yesOrNo(value, tone = "plain") {
	const weight = tone === "judged" ? (value ? "good" : "bad") : value ? "" : "weak";
	return element("span", weight === "" ? {} : { class: weight }, [value ? "yes" : "no"]);
}

/**
 * What the bars of the presets are held against.
 *
 * @param {number} tokens
 */
export const noteOf = (tokens) =>
	`Bars show what is left of ${formatCount(tokens)} tokens. Rewritten: tokens from the first change on, which the provider writes to its cache anew; pays after: calls until what is saved has paid for that.`;
