import { element, tableRegion } from "./elements.js";

/**
 * A cell: a text, a link, or a button that chooses the row.
 *
 * @typedef {string | { readonly text: string, readonly href: string } | { readonly text: string, readonly detail: string, readonly isChosen: boolean, readonly choose: () => void }} Cell
 */

const roles = Object.entries({ table: "table", thead: "rowgroup", "thead tr": "row", tbody: "rowgroup" });

/**
 * A table whose rows are updated in place: what has the focus keeps it, and nothing scrolls.
 *
 * @param {HTMLElement} container
 * @param {{ caption: string, headings: readonly string[], className?: string }} about
 */
export function liveTable(container, { caption, headings, className = "figures live" }) {
	const region = tableRegion({ caption, label: caption, className, headings, rows: [] });
	const body = /** @type {HTMLElement} */ (region.querySelector("tbody"));
	for (const [selector, role] of roles) region.querySelector(selector)?.setAttribute("role", role);
	for (const heading of region.querySelectorAll("thead th")) heading.setAttribute("role", "columnheader");
	container.append(region);
	/** @type {Map<string, { row: HTMLTableRowElement, cells: HTMLElement[], texts: readonly unknown[] }>} */
	let known = new Map();

	return {
		/** @param {readonly { readonly key: string, readonly cells: readonly Cell[] }[]} rows in the order of the page */
		show(rows) {
			/** @type {typeof known} */
			const next = new Map();
			/** @type {Element | null} */
			let place = body.firstElementChild;
			for (const { key, cells } of rows) {
				const made = known.get(key) ?? newRow(headings);
				known.delete(key);
				next.set(key, made);
				cells.forEach((cell, index) => {
					const element = made.cells[index];
					if (element && made.texts[index] !== cell) fill(element, cell);
				});
				made.texts = cells;
				if (made.row === place) place = place.nextElementSibling;
				else body.insertBefore(made.row, place);
			}
			for (const { row } of known.values()) row.remove();
			known = next;
		},
	};
}

/**
 * The roles stay where a narrow page shows rows as blocks, with the headings beside the cells.
 *
 * @param {readonly string[]} headings
 */
function newRow(headings) {
	const cells = headings.map((heading, index) =>
		index === 0
			? element("th", { scope: "row", role: "rowheader", "data-label": heading })
			: element("td", { role: "cell", "data-label": heading }),
	);
	return { row: element("tr", { role: "row" }, cells), cells, texts: /** @type {readonly unknown[]} */ ([]) };
}

/**
 * @param {HTMLElement} cell
 * @param {Cell} content
 */
function fill(cell, content) {
	if (typeof content === "string") return setText(cell, content);
	if ("href" in content) {
		const link = cell.querySelector("a") ?? element("a", { target: "_blank", rel: "noopener noreferrer" });
		if (link.getAttribute("href") !== content.href) link.setAttribute("href", content.href);
		setText(link, content.text);
		if (link.parentNode !== cell) cell.replaceChildren(link);
		return;
	}
	const { text, detail, isChosen, choose } = content;
	let button = cell.querySelector("button");
	if (button === null) {
		button = element("button", { type: "button", class: "choose" }, [
			element("bdi"),
			element("bdi", { class: "detail" }),
		]);
		cell.replaceChildren(button);
	}
	const [name, below] = button.children;
	if (name) setText(name, text);
	if (below) setText(below, detail);
	button.setAttribute("aria-pressed", String(isChosen));
	button.onclick = choose;
}

/**
 * Writes a text only where it changes, so that a selection stays and nothing is read out again.
 *
 * @param {Element} where
 * @param {string} text
 */
export function setText(where, text) {
	if (where.textContent !== text) where.textContent = text;
}
