import { formatShare } from "../replay-data.ts";
import { byId, dataTable } from "./elements.js";
import { axis, colourOf, plotIn, spaceOfTicks } from "./plot.js";
import { lineOfPolicy } from "./plots.js";

/** @import { ReplayPageData } from "../replay-data.ts" */

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
					space: spaceOfTicks(width),
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

/**
 * Draws a disc and a square for each policy, joined by a line, and its name next to them. Returns how many names found no
 * room.
 *
 * @param {import("uplot")} self
 * @param {readonly { policy: string, x: number, identifiers: number | null, lines: number | null }[]} points
 * @param {readonly string[]} names
 */
function drawRecallPoints(self, points, names) {
	const { ctx: context } = self;
	const scale = devicePixelRatio;
	const radius = 4.5 * scale;
	const half = 5.5 * scale;
	const at = points.map(({ policy, x, identifiers, lines }) => ({
		policy,
		colour: colourOf(lineOfPolicy(names, policy).property),
		x: self.valToPos(x, "x", true),
		disc: identifiers === null ? undefined : self.valToPos(identifiers, "y", true),
		square: lines === null ? undefined : self.valToPos(lines, "y", true),
	}));
	context.save();
	context.font = `${13 * scale}px system-ui, sans-serif`;
	context.lineWidth = 2 * scale;
	for (const { colour, x, disc, square } of at) {
		context.strokeStyle = colour;
		context.fillStyle = colour;
		if (disc !== undefined && square !== undefined) {
			context.globalAlpha = 0.45;
			line(context, [x, disc], [x, square]);
			context.globalAlpha = 1;
		}
		if (square !== undefined) {
			context.clearRect(x - half, square - half, 2 * half, 2 * half);
			context.strokeRect(x - half, square - half, 2 * half, 2 * half);
		}
		if (disc !== undefined) {
			context.beginPath();
			context.arc(x, disc, radius, 0, 2 * Math.PI);
			context.fill();
		}
	}
	const around = 1.6 * radius;
	const marks = at.flatMap(({ x, disc, square }) =>
		[disc, square]
			.filter((y) => y !== undefined)
			.map((y) => ({ x: x - around, y: y - around, width: 2 * around, height: 2 * around })),
	);
	const stems = at.flatMap(({ x, disc, square }) => {
		if (disc === undefined || square === undefined) return [];
		return [{ x: x - scale, y: Math.min(disc, square), width: 2 * scale, height: Math.abs(disc - square) }];
	});
	const anchors = at.map(({ policy, x, disc, square }) => ({
		x,
		y: disc ?? square ?? 0,
		width: context.measureText(policy).width + 4 * scale,
	}));
	const { bbox } = self;
	const frame = { x: bbox.left, y: bbox.top - 10 * scale, width: bbox.width + 14 * scale, height: bbox.height };
	const labels = placeLabels(anchors, { marks: [...marks, ...stems], frame, height: 17 * scale });
	context.textBaseline = "middle";
	context.textAlign = "left";
	labels.forEach((box, index) => {
		const point = at[index];
		const anchor = anchors[index];
		if (box === undefined || point === undefined || anchor === undefined) return;
		const middle = box.y + box.height / 2;
		const near = Math.max(box.x, Math.min(anchor.x, box.x + box.width));
		const edge = Math.max(box.y, Math.min(anchor.y, box.y + box.height));
		if (Math.hypot(near - anchor.x, edge - anchor.y) > 2.6 * radius) {
			context.lineWidth = scale;
			context.strokeStyle = colourOf("--muted");
			line(context, [anchor.x, anchor.y], [near, edge]);
		}
		context.fillStyle = colourOf("--ink");
		context.fillText(point.policy, box.x + 2 * scale, middle);
	});
	context.restore();
	return labels.filter((box) => box === undefined).length;
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {readonly [number, number]} from
 * @param {readonly [number, number]} to
 */
function line(context, from, to) {
	context.beginPath();
	context.moveTo(...from);
	context.lineTo(...to);
	context.stroke();
}

/**
 * @typedef {{ readonly x: number, readonly y: number, readonly width: number, readonly height: number }} Box
 * @typedef {{ readonly x: number, readonly y: number, readonly width: number }} Anchor Where a label belongs, and how wide it is.
 */

/** Directions in which a label may lie from its point, the best first: right, left, above, below, and between. */
const directions = [
	[1, 0],
	[-1, 0],
	[0, -1],
	[0, 1],
	[0.8, -0.8],
	[0.8, 0.8],
	[-0.8, -0.8],
	[-0.8, 0.8],
];
const distances = [10, 18, 30, 44, 60, 80];

/**
 * Finds a place for each label near its point where it covers neither a mark nor another label, inside the frame; where
 * there is none, the one where it covers least, unless a quarter of it would not be read.
 *
 * @param {readonly Anchor[]} anchors
 * @param {{ readonly marks: readonly Box[], readonly frame: Box, readonly height: number }} around
 * @returns {(Box | undefined)[]} in the order of the anchors
 */
function placeLabels(anchors, { marks, frame, height }) {
	/** @type {Box[]} */
	const placed = [];
	return anchors.map(({ x, y, width }) => {
		/** @type {{ box: Box, covered: number } | undefined} */
		let best;
		for (const distance of distances) {
			for (const [right = 0, down = 0] of directions) {
				const box = {
					x: x + right * distance - (right > 0 ? 0 : right < 0 ? width : width / 2),
					y: y + down * distance - height / 2,
					width,
					height,
				};
				const outside = width * height - overlap(box, frame);
				const covered = [...marks, ...placed].reduce((sum, other) => sum + overlap(box, other), 2 * outside);
				if (best === undefined || covered < best.covered - 0.5) best = { box, covered };
			}
			if (best !== undefined && best.covered < 0.5) break;
		}
		if (best === undefined || best.covered > (width * height) / 4) return undefined;
		placed.push(best.box);
		return best.box;
	});
}

/**
 * @param {Box} a
 * @param {Box} b
 */
function overlap(a, b) {
	const wide = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x);
	const high = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y);
	return wide > 0 && high > 0 ? wide * high : 0;
}
