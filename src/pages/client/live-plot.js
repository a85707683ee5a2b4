import { breakInWords, editsInWords, marksOf } from "../live-data.ts";
import { formatCount } from "../replay-data.ts";
import { byId, element, legendItem } from "./elements.js";
import { axis, colourOf, plotIn, shortCount, spaceOfTicks, wholeSteps } from "./plot.js";

/** @import { LiveConversation, Marks } from "../live-data.ts" */

const dash = [5, 4];
const triangle = "M1.5 3h11L7 12.5z";
const diamond = "M7 1l5 6-5 6-5-6z";

/**
 * The tokens of each request of a conversation: as sent, and as the program sent it; with marks where results were masked
 * or cut and where the cache broke.
 *
 * @param {(index: number) => void} onPoint called with the drawn request under the pointer
 */
export function livePlot(onPoint) {
	/** @type {{ conversation: LiveConversation, marks: Marks } | undefined} */
	let shown;
	const container = byId("plot");
	const plot = plotIn(container, (width) => Math.round(Math.min(420, Math.max(240, width * 0.3))));
	const values = { sent: element("b"), unedited: element("b"), edits: element("b"), broke: element("b") };
	const breakItem = legendItem({ property: "--broke", path: diamond }, "cache broke", values.broke);
	byId("legend").append(
		legendItem({ property: "--sent", strong: true }, "sent", values.sent),
		legendItem({ property: "--raw", dash }, "unedited", values.unedited),
		legendItem({ property: "--masked", path: triangle }, "masked or cut", values.edits),
		breakItem,
	);

	/** @param {import("uplot")} drawn */
	function drawMarks(drawn) {
		if (shown === undefined) return;
		const { conversation, marks } = shown;
		const { first_point: first, points } = conversation;
		const { ctx, bbox } = drawn;
		const scale = devicePixelRatio;
		const xOf = (/** @type {number} */ request) => Math.round(drawn.valToPos(request, "x", true));
		ctx.save();
		ctx.lineWidth = scale;
		ctx.strokeStyle = ctx.fillStyle = colourOf("--broke");
		ctx.setLineDash([2 * scale, 3 * scale]);
		for (const request of marks.breaks.keys()) {
			if (request < first) continue;
			const x = xOf(request);
			ctx.beginPath();
			ctx.moveTo(x, bbox.top);
			ctx.lineTo(x, bbox.top + bbox.height);
			ctx.stroke();
			fillShape(ctx, diamond, { x, y: bbox.top, scale });
		}
		ctx.fillStyle = colourOf("--masked");
		for (const request of marks.edits.keys()) {
			const point = points[request - first];
			if (point === undefined) continue;
			const y = drawn.valToPos(point[0], "y", true) - 9 * scale;
			fillShape(ctx, triangle, { x: xOf(request), y: Math.max(y, bbox.top + 7 * scale), scale });
		}
		ctx.restore();
	}

	/** @param {number} width */
	const options = (width) => ({
		padding: /** @type {import("uplot").Padding} */ ([14, 12, 0, 0]),
		cursor: { y: false, drag: { x: false, y: false }, points: { size: 8 } },
		scales: {
			x: { time: false },
			y: {
				range: (/** @type {unknown} */ _, /** @type {number} */ __, /** @type {number} */ most) =>
					/** @type {[number, number]} */ ([0, most * 1.06 || 1]),
			},
		},
		axes: [
			axis({ label: "request", space: spaceOfTicks(width), incrs: wholeSteps }),
			axis({
				label: "tokens",
				values: (/** @type {unknown} */ _, /** @type {number[]} */ splits) => splits.map(shortCount),
				size: 52,
			}),
		],
		series: [
			{},
			{ stroke: () => colourOf("--raw"), width: 1.75, dash, points: { show: isShort } },
			{ stroke: () => colourOf("--sent"), width: 2.5, points: { show: isShort } },
		],
		bands: [{ series: /** @type {[number, number]} */ ([1, 2]), fill: () => colourOf("--left-out") }],
		hooks: {
			draw: [drawMarks],
			setCursor: [
				(/** @type {import("uplot")} */ { cursor: { idx, event } }) => {
					if (event && typeof idx === "number") onPoint(idx);
				},
			],
		},
	});

	return {
		redraw: plot.redraw,
		/** @param {LiveConversation} conversation */
		show(conversation) {
			const isSame = shown !== undefined;
			shown = { conversation, marks: marksOf(conversation) };
			const { points, first_point: first, breaks } = conversation;
			container.setAttribute("aria-label", plotInWords(conversation));
			breakItem.hidden = breaks === undefined;
			/** @type {import("uplot").AlignedData} */
			const data = [
				points.map((_, index) => first + index),
				points.map(([sent, leftOut]) => sent + leftOut),
				points.map(([sent]) => sent),
			];
			if (isSame) plot.update(data);
			else plot.show(options, data);
		},
		/**
		 * Shows the figures of one request.
		 *
		 * @param {number} index among the drawn ones
		 * @returns {string} the same in words
		 */
		pointAt(index) {
			const point = shown?.conversation.points[index];
			if (shown === undefined || point === undefined) return "";
			const request = shown.conversation.first_point + index;
			const [sent, leftOut] = point;
			const broke = shown.marks.breaks.get(request);
			const edits = editsInWords(shown.marks.edits.get(request));
			values.sent.textContent = formatCount(sent);
			values.unedited.textContent = formatCount(sent + leftOut);
			values.edits.textContent = edits;
			values.broke.textContent = broke ? breakInWords(broke) : "–";
			plot.pointAt(index);
			return [
				`request ${formatCount(request)}: ${formatCount(sent)} tokens sent, ${formatCount(sent + leftOut)} unedited`,
				...(edits === "–" ? [] : [edits]),
				...(broke ? [`the cache broke: ${breakInWords(broke)}`] : []),
			].join("; ");
		},
	};
}

/** Whether a line would be too short to be seen. */
const isShort = (/** @type {import("uplot")} */ { data }) => data[0].length < 3;

/**
 * @param {CanvasRenderingContext2D} context
 * @param {string} path in a square of 14
 * @param {{ readonly x: number, readonly y: number, readonly scale: number }} place of its centre
 */
function fillShape(context, path, { x, y, scale }) {
	context.save();
	context.translate(x, y);
	context.scale(scale, scale);
	context.translate(-7, -7);
	context.fill(new Path2D(path));
	context.restore();
}

/** @param {LiveConversation} conversation */
function plotInWords({ points, first_point: first, results, breaks = [] }) {
	const last = points.at(-1) ?? [0, 0, 0, 0];
	const masked = results.length > 0 ? ` ${formatCount(results.length)} results were masked or cut.` : "";
	const broke = breaks.length > 0 ? ` The cache broke ${formatCount(breaks.length)} times.` : "";
	return `Tokens of ${formatCount(points.length)} requests: ${formatCount(points[0]?.[0] ?? 0)} sent at request ${formatCount(first)}, ${formatCount(last[0])} at the last, which has ${formatCount(last[0] + last[1])} unedited.${masked}${broke}`;
}
