import { formatCost, formatCount } from "../replay-page.ts";
import { colourOf, lineOfPolicy } from "./colours.js";
import { wholeSteps } from "./context-plot.js";
import { dataTable } from "./data-table.js";
import { byId, element } from "./elements.js";
import { legendItem } from "./legend.js";
import { axis, plotIn } from "./plot.js";
import { shortCost } from "./short-numbers.js";

/** @import { ReplayPageData } from "../replay-page-data.ts" */
/** @import { Unpacked } from "./unpack.js" */

/**
 * What each policy has cost until each call.
 *
 * @param {ReplayPageData} data
 * @param {(index: number) => void} onPoint told which of the drawn calls somebody points at
 */
export function costPlot({ billedIn, policies }, onPoint) {
	const names = policies.map(({ policy }) => policy);
	/** @type {Unpacked | undefined} */
	let shown;
	/** @type {HTMLElement[]} */
	let values = [];
	const container = byId("cost-plot");
	const plot = plotIn(container, (width) => Math.round(Math.min(380, Math.max(240, width * 0.42))));
	const table = dataTable(byId("cost-data"), () => ({
		caption: `Cost so far, ${unitName(billedIn)}`,
		headings: ["Call", ...(shown?.series ?? []).map(({ policy }) => policy)],
		rows: (shown?.at ?? []).map((call, index) => [
			formatCount(call),
			...(shown?.series ?? []).map(({ billed }) => formatCost(billed[index] ?? 0, billedIn)),
		]),
	}));

	return {
		redraw: plot.redraw,
		/**
		 * @param {Unpacked} conversation
		 * @param {string} policy that is drawn strong
		 */
		show(conversation, policy) {
			shown = conversation;
			container.setAttribute("aria-label", gist(conversation, billedIn));
			values = conversation.series.map(() => element("b"));
			byId("cost-legend").replaceChildren(
				...conversation.series.map((series, index) =>
					legendItem(
						{ ...lineOfPolicy(names, series.policy), strong: series.policy === policy },
						series.policy,
						values[index],
					),
				),
			);
			plot.show(
				(width) => ({
					padding: [12, 16, 0, 0],
					cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
					scales: { x: { time: false } },
					axes: [
						axis({ label: "LLM call", space: width < 500 ? 56 : 80, incrs: wholeSteps }),
						axis({
							label: unitName(billedIn),
							values: (_, splits) => splits.map((value) => shortCost(value, billedIn)),
							size: 52,
						}),
					],
					series: [
						{},
						...conversation.series.map((series) => {
							const { property, dash } = lineOfPolicy(names, series.policy);
							return {
								stroke: () => colourOf(property),
								width: series.policy === policy ? 3.5 : 1.75,
								dash,
								points: { show: false },
							};
						}),
					],
					hooks: { setCursor: [({ cursor: { idx, event } }) => event && typeof idx === "number" && onPoint(idx)] },
				}),
				[conversation.at, ...conversation.series.map(({ billed }) => billed)],
			);
			table.fill();
		},
		/** @param {number} index */
		pointAt(index) {
			if (shown === undefined) return;
			const { at, series } = shown;
			const raw = series.find(({ policy }) => policy === "raw")?.billed[index];
			series.forEach(({ policy, billed }, place) => {
				const against = raw && policy !== "raw" ? ` (${((billed[index] ?? 0) / raw).toFixed(2)} × raw)` : "";
				const value = values[place];
				if (value) value.textContent = `${formatCost(billed[index] ?? 0, billedIn)}${against}`;
			});
			byId("cost-readout").textContent = `Until call ${formatCount(at[index] ?? 0)}, ${unitName(billedIn)}`;
			plot.pointAt(index);
		},
	};
}

/** @param {ReplayPageData["billedIn"]} unit */
const unitName = (unit) => (unit === "us_dollars" ? "US dollars" : "in prices of one input token");

/**
 * @param {Unpacked} conversation
 * @param {ReplayPageData["billedIn"]} unit
 */
function gist({ file, calls, series }, unit) {
	const ends = series
		.map(({ policy, billed }) => ({ policy, end: billed.at(-1) ?? 0 }))
		.sort((a, b) => a.end - b.end)
		.map(({ policy, end }) => `${policy} ${formatCost(end, unit)}`);
	return `Cost of ${formatCount(calls)} LLM calls of ${file}, ${unitName(unit)}, the cheapest first: ${ends.join(", ")}.`;
}
