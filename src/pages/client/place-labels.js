/**
 * @typedef {{ readonly x: number, readonly y: number, readonly width: number, readonly height: number }} Box
 * @typedef {{ readonly x: number, readonly y: number, readonly width: number }} Anchor Where a label belongs, and how wide it is.
 */

/** Directions in which a label may stand from its point, the best first: right, left, above, below, and between. */
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
export function placeLabels(anchors, { marks, frame, height }) {
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
