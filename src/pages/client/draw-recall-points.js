import { colourOf, lineOfPolicy } from "./colours.js";
import { placeLabels } from "./place-labels.js";

/**
 * Draws a disc and a square for each policy, joined by a line, and its name beside them. Returns how many names found no
 * room.
 *
 * @param {import("uplot")} self
 * @param {readonly { policy: string, x: number, identifiers: number | null, lines: number | null }[]} points
 * @param {readonly string[]} names
 */
export function drawRecallPoints(self, points, names) {
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
