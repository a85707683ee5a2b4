import { element } from "./elements.js";

/** Rows of a table beside a plot at most: whoever reads it is told of a curve, not of each pixel. */
const mostRows = 60;

/**
 * Fills a `details` with a table once it is opened, and again each time that `fill` is called while it is open.
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
		const said = rows.length > shown.length ? `${caption}; ${shown.length} of ${rows.length} rows` : caption;
		const head = element(
			"tr",
			{},
			headings.map((heading) => element("th", { scope: "col" }, [heading])),
		);
		const body = shown.map(([name = "", ...cells]) =>
			element("tr", {}, [element("th", { scope: "row" }, [name]), ...cells.map((cell) => element("td", {}, [cell]))]),
		);
		const table = element("table", { class: "figures" }, [
			element("caption", {}, [said]),
			element("thead", {}, [head]),
			element("tbody", {}, body),
		]);
		details.append(element("div", { class: "scrolls", role: "region", tabindex: 0, "aria-label": said }, [table]));
	};
	details.addEventListener("toggle", fill);
	return { fill };
}
