import { formatCount, formatShare } from "../replay-page.ts";
import { colourOf } from "./colours.js";
import { dataTable } from "./data-table.js";
import { byId, element } from "./elements.js";
import { legendItem } from "./legend.js";
import { axis, plotIn } from "./plot.js";
import { shortCount } from "./short-numbers.js";
import { parts } from "./unpack.js";

/** @import { Unpacked, UnpackedSeries } from "./unpack.js" */

/** The grid would not be seen behind the stack. */
const drawOrder = /** @type {import("uplot").DrawOrderKey[]} */ (/** @type {unknown} */ (["series", "axes"]));

/**
 * The context of each call, its parts stacked.
 *
 * @param {(index: number) => void} onPoint told which of the drawn calls somebody points at
 */
export function contextPlot(onPoint) {
	/** @type {{ conversation: Unpacked, series: UnpackedSeries } | undefined} */
	let shown;
	const container = byId("context-plot");
	const plot = plotIn(container, (width) => Math.round(Math.min(380, Math.max(240, width * 0.42))));
	const values = parts.map(() => element("b"));
	const valueOfRaw = element("b");
	const rawItem = legendItem({ property: "--raw", dash: rawDash }, "raw, all parts", valueOfRaw);
	byId("context-legend").append(
		...parts.map(({ name, property }, part) => legendItem({ property, filled: true }, name, values[part])),
		rawItem,
	);
	const table = dataTable(byId("context-data"), () => ({
		caption: `Tokens by part, ${shown?.series.policy ?? ""}`,
		headings: ["Call", ...parts.map(({ name }) => name), "together"],
		rows: (shown?.conversation.at ?? []).map((call, index) => [
			formatCount(call),
			...parts.map((_, part) => formatCount(shown?.series.tokens[part]?.[index] ?? 0)),
			formatCount(shown?.series.total[index] ?? 0),
		]),
	}));

	return {
		redraw: plot.redraw,
		/**
		 * @param {Unpacked} conversation
		 * @param {UnpackedSeries} series
		 * @param {number} most tokens of the largest call under any policy, so that policies are drawn to one scale
		 */
		show(conversation, series, most) {
			shown = { conversation, series };
			container.setAttribute("aria-label", gist(conversation, series));
			const upTo = (/** @type {number} */ part) =>
				series.total.map((_, index) =>
					series.tokens.slice(0, part + 1).reduce((sum, one) => sum + (one[index] ?? 0), 0),
				);
			const raw = rawBeside(conversation, series);
			rawItem.hidden = raw === undefined;
			// The whole stack is painted first, and each smaller one over it.
			const order = parts.map((_, part) => part).reverse();
			plot.show(
				(width) => ({
					padding: [12, 16, 0, 0],
					drawOrder,
					cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
					scales: { x: { time: false }, y: { range: [0, most * 1.04 || 1] } },
					axes: [
						axis({ label: "LLM call", space: width < 500 ? 56 : 80, incrs: wholeSteps }),
						axis({ label: "tokens", values: (_, splits) => splits.map(shortCount), size: 52 }),
					],
					series: [
						{},
						...order.map((part) => ({
							fill: () => colourOf(parts[part]?.property ?? ""),
							stroke: () => colourOf("--surface"),
							width: conversation.at.length > width / 3 ? 0 : 1,
							points: { show: false },
						})),
						...(raw ? [{ stroke: () => colourOf("--raw"), width: 1.5, dash: rawDash, points: { show: false } }] : []),
					],
					hooks: { setCursor: [({ cursor: { idx, event } }) => event && typeof idx === "number" && onPoint(idx)] },
				}),
				[conversation.at, ...order.map(upTo), ...(raw ? [raw.total] : [])],
			);
			table.fill();
		},
		/** @param {number} index */
		pointAt(index) {
			if (shown === undefined) return;
			const { conversation, series } = shown;
			values.forEach((value, part) => {
				value.textContent = formatCount(series.tokens[part]?.[index] ?? 0);
			});
			valueOfRaw.textContent = formatCount(rawBeside(conversation, series)?.total[index] ?? 0);
			byId("context-readout").textContent =
				`Call ${formatCount(conversation.at[index] ?? 0)} under ${series.policy}: ${formatCount(series.total[index] ?? 0)} tokens`;
			plot.pointAt(index);
		},
	};
}

const rawDash = [5, 4];

/**
 * What would have been sent had nothing been masked, where that is another policy than the one shown.
 *
 * @param {Unpacked} conversation
 * @param {UnpackedSeries} shown
 */
function rawBeside(conversation, shown) {
	return shown.policy === "raw" ? undefined : conversation.series.find(({ policy }) => policy === "raw");
}

/** Ticks between calls would say nothing. */
export const wholeSteps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000];

/**
 * @param {Unpacked} conversation
 * @param {UnpackedSeries} series
 */
function gist({ file, at, calls }, { policy, total, tokens }) {
	const last = total.length - 1;
	const peak = total.reduce((most, value, index) => (value > (total[most] ?? 0) ? index : most), 0);
	const ofLast = parts
		.map(({ name }, part) => ({ name, of: (tokens[part]?.[last] ?? 0) / (total[last] || 1) }))
		.sort((a, b) => b.of - a.of)
		.map(({ name, of }) => `${name} ${formatShare(of)}`);
	return `Context of ${formatCount(calls)} LLM calls of ${file} under ${policy}: from ${formatCount(total[0] ?? 0)} tokens at the first call to ${formatCount(total[last] ?? 0)} at the last, at most ${formatCount(total[peak] ?? 0)} at call ${formatCount(at[peak] ?? 0)}. The last call holds ${ofLast.join(", ")}.`;
}
