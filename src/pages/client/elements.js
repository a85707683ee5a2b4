/**
 * An element with attributes and children; strings among the children become texts, never markup.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Readonly<Record<string, string | number>>} attributes
 * @param {readonly (Node | string)[]} children
 */
export function element(tag, attributes = {}, children = []) {
	const made = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
	made.append(...children);
	return made;
}

/**
 * The same inside an `svg`.
 *
 * @param {string} tag
 * @param {Readonly<Record<string, string | number>>} attributes
 * @param {readonly Node[]} children
 */
function svgElement(tag, attributes = {}, children = []) {
	const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
	for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
	made.append(...children);
	return made;
}

/**
 * The element of a page that is always there.
 *
 * @template {Element} [Found=HTMLElement]
 * @param {string} id
 * @returns {Found}
 */
export function byId(id) {
	const found = document.getElementById(id);
	if (found === null) throw new Error(`no element #${id}`);
	return /** @type {Found} */ (/** @type {unknown} */ (found));
}

/**
 * An item of a legend: a swatch like the mark in the plot, a name, and a value that changes.
 *
 * @param {{ readonly property: string, readonly filled?: boolean, readonly dash?: readonly number[], readonly strong?: boolean, readonly path?: string }} mark
 *   `path` is the outline of a filled mark in a square of 14.
 * @param {string} name
 * @param {Node} [value]
 */
export function legendItem({ property, filled = false, dash = [], strong = false, path }, name, value) {
	const isSquare = filled || path !== undefined;
	const shape = path
		? svgElement("path", { d: path, fill: "currentColor" })
		: filled
			? svgElement("rect", { x: 1, y: 1, width: 12, height: 12, rx: 2, fill: "currentColor" })
			: svgElement("line", {
					x1: 0,
					x2: 26,
					y1: 7,
					y2: 7,
					stroke: "currentColor",
					"stroke-width": strong ? 4 : 2.5,
					"stroke-dasharray": dash.join(" "),
				});
	const swatch = svgElement(
		"svg",
		{ class: "mark", viewBox: isSquare ? "0 0 14 14" : "0 0 26 14", "aria-hidden": "true" },
		[shape],
	);
	swatch.style.color = `var(${property})`;
	if (!isSquare) swatch.classList.add("line");
	return element("li", strong ? { class: "strong" } : {}, [
		swatch,
		element("bdi", {}, [name]),
		...(value ? [value] : []),
	]);
}

/** Most rows of the table of a plot: its readers follow a curve, not each pixel. */
const mostRows = 60;

/**
 * Fills a `details` with a table once it is opened, and again with each call of `fill` while it is open.
 *
 * @param {HTMLDetailsElement} details
 * @param {() => { caption: string, headings: readonly string[], rows: readonly (readonly string[])[] }} content
 */
export function dataTable(details, content) {
	const fill = () => {
		details.querySelector(".scrolls")?.remove();
		if (!details.open) return;
		const { caption, headings, rows } = content();
		const step = Math.max(1, (rows.length - 1) / (mostRows - 1));
		const shown = Array.from(
			{ length: Math.min(rows.length, mostRows) },
			(_, row) => rows[Math.round(row * step)] ?? [],
		);
		const label = rows.length > shown.length ? `${caption}; ${shown.length} of ${rows.length} rows` : caption;
		details.append(tableRegion({ caption: label, label, headings, rows: shown }));
	};
	details.addEventListener("toggle", fill);
	return { fill };
}

/**
 * A table in a region of its own that scrolls where the page is too narrow.
 *
 * @param {{ caption: string, label: string, className?: string, headings: readonly string[], rows: readonly (readonly (Node | string)[])[] }} table
 */
export function tableRegion({ caption, label, className = "figures", headings, rows }) {
	const head = headings.map((heading) => element("th", { scope: "col" }, [heading]));
	const body = rows.map(([name = "", ...cells]) =>
		element("tr", {}, [element("th", { scope: "row" }, [name]), ...cells.map((cell) => element("td", {}, [cell]))]),
	);
	const table = element("table", { class: className }, [
		element("caption", {}, [caption]),
		element("thead", {}, [element("tr", {}, head)]),
		element("tbody", {}, body),
	]);
	return element("div", { class: "scrolls", role: "region", tabindex: 0, "aria-label": label }, [table]);
}
