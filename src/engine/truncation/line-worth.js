import { lineSigns, lineWeights, signNames } from "./lines.js";
/** Shares of the room for the start and the end of a text. The share of the start grows with the room. */
export const endShares = { head: (maxChars) => Math.min(0.4, 0.06 + maxChars / 60_000), tail: 0.04 };
const namedWorth = [0, 0.25, 1, 0.5, 0.25];
const namedBefore = 2;
/** Worth of each unit, from 0 (bare) to 1 (best). If `isEven`, the distance from the start does not count. */
export function scoreLines(units, features, { isEven = false, weights = lineWeights } = {}) {
	const { count } = units;
	const signsOf = lineSigns(units, features, isEven);
	const factors = signNames.map((name) => weights[name]);
	const scores = new Float32Array(count);
	let top = 0;
	for (let unit = 0; unit < count; unit += 1) {
		if (features.bare[unit] === 1) continue;
		const signs = signsOf(unit);
		let sum = 0;
		for (let index = 0; index < factors.length; index += 1) sum += factors[index] * signs[index];
		const worth = Math.exp(sum);
		scores[unit] = worth;
		if (worth > top) top = worth;
	}
	if (top > 0) for (let unit = 0; unit < count; unit += 1) scores[unit] = scores[unit] / top;
	raiseNamed(scores, features);
	return scores;
}
function raiseNamed(scores, { named, bare }) {
	for (const unit of named) {
		for (const [index, least] of namedWorth.entries()) {
			const near = unit + index - namedBefore;
			if (bare[near] === 1) continue;
			scores[near] = Math.max(scores[near], least);
		}
	}
}
const worth = { header: 1_000, focus: 20 };
/** Rows after which the start or the end of a table weighs 1/e of its edge. */
const edgeRows = 30;
/** Scores the lines of a table: its header first, then the rows that match the focus, then rows near the start or end. */
export function scoreTable(units, features) {
	const { count, line } = units;
	const most = features ? features.focus.reduce((sum, one) => Math.max(sum, one), 0) : 0;
	return Float32Array.from({ length: count }, (_, unit) => {
		if (line[unit] === 1) return worth.header;
		const edge = 2 * Math.exp(-unit / edgeRows) + Math.exp(-(count - 1 - unit) / edgeRows);
		const found = most > 0 && features ? features.focus[unit] / most : 0;
		return 0.1 + edge + worth.focus * found ** 2;
	});
}
