import { element, svgElement } from "./elements.js";

/**
 * An item of a legend: a swatch as it is drawn in the plot, a name, and a value that changes.
 *
 * @param {{ readonly property: string, readonly filled?: boolean, readonly dash?: readonly number[], readonly strong?: boolean }} mark
 * @param {string} name
 * @param {Node} [value]
 */
export function legendItem({ property, filled = false, dash = [], strong = false }, name, value) {
	const shape = filled
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
		{ class: "mark", viewBox: filled ? "0 0 14 14" : "0 0 26 14", "aria-hidden": "true" },
		[shape],
	);
	swatch.style.color = `var(${property})`;
	if (!filled) swatch.classList.add("line");
	return element("li", strong ? { class: "strong" } : {}, [
		swatch,
		element("bdi", {}, [name]),
		...(value ? [value] : []),
	]);
}
