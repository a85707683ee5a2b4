import { formatShare } from "../replay-page.ts";
import { dataTable } from "./data-table.js";
import { drawRecallPoints } from "./draw-recall-points.js";
import { byId } from "./elements.js";
import { axis, plotIn } from "./plot.js";

/** @import { ReplayPageData } from "../replay-page-data.ts" */

/**
 * Draws, for each policy, recall against the size of the context: a disc for identifiers, a square for lines.
 *
 * @param {ReplayPageData} data
 */
export function recallPlot({ policies }) {
	const names = policies.map(({ policy }) => policy);
	const points = policies
		.map(({ policy, average_context_ratio, recall }) => ({ policy, x: average_context_ratio, ...recall }))
		.filter(({ identifiers, lines }) => identifiers !== null || lines !== null)
		.sort((a, b) => a.x - b.x);
	if (points.length === 0) return { redraw() {} };
	byId("recall-block").hidden = false;
	const container = byId("recall-plot");
	const said = (/** @type {number | null} */ value) => (value === null ? "none used" : formatShare(value));
	container.setAttribute(
		"aria-label",
		`Recall against average context. ${points.map(({ policy, x, identifiers, lines }) => `${policy}: ${formatShare(x)} of the context of raw, identifiers ${said(identifiers)}, lines ${said(lines)}`).join("; ")}.`,
	);
	dataTable(byId("recall-data"), () => ({
		caption: "Recall against size",
		headings: ["Policy", "Context of raw", "Identifiers", "Lines"],
		rows: points.map(({ policy, x, identifiers, lines }) => [policy, formatShare(x), said(identifiers), said(lines)]),
	}));

	const values = points.flatMap(({ identifiers, lines }) => [identifiers ?? 1, lines ?? 1]);
	const lowest = Math.max(0, Math.floor(20 * Math.min(...values) - 0.5) / 20);
	const [left, right] = [Math.min(...points.map(({ x }) => x)), Math.max(...points.map(({ x }) => x))];
	const room = Math.max(0.04, (right - left) * 0.08);
	const plot = plotIn(container, (width) => Math.round(Math.min(440, Math.max(300, width * 0.5))));
	plot.show(
		(width) => ({
			padding: [14, 16, 0, 0],
			cursor: { show: false },
			scales: {
				x: { time: false, range: [Math.max(0, left - room), right + room] },
				y: { range: [lowest, 1] },
			},
			axes: [
				axis({
					label: "context sent, share of raw",
					values: (_, splits) => splits.map(percent),
					space: width < 500 ? 56 : 80,
				}),
				axis({
					label: "recall",
					values: (_, splits) => splits.map(percent),
					size: 48,
					incrs: [0.01, 0.02, 0.05, 0.1, 0.2],
				}),
			],
			series: [{}, { show: true, paths: () => null, points: { show: false } }],
			hooks: { draw: [(self) => sayUnnamed(drawRecallPoints(self, points, names))] },
		}),
		[points.map(({ x }) => x), points.map(({ identifiers, lines }) => identifiers ?? lines)],
	);
	return plot;
}

/** @param {number} value */
const percent = (value) => `${Math.round(100 * value)}%`;

/** @param {number} unnamed */
function sayUnnamed(unnamed) {
	byId("recall-unnamed").textContent =
		unnamed === 0 ? "" : `There was no room for the names of ${unnamed} policies; the table has them.`;
}
