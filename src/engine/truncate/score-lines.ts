import type { LineFeatures } from "./line-features.ts";
import type { TextUnits } from "./text-units.ts";

/**
 * How much each sign counts for a line being used later. Found by search on half of a set of real conversations with the
 * other half to check, then on both: test/real/truncate-recall.test.ts tells what they keep.
 */
const weights = {
	any: 0.65,
	focus: 0.5,
	focusAround: 0.11,
	fresh: 0.94,
	names: 0.23,
	central: -0.19,
	declares: 0.15,
	declaresAbove: -0.71,
	comment: -0.18,
	imports: -0.82,
	fails: 0.4,
	quotes: 0.12,
	shallow: -0.15,
	late: -0.36,
	front: 0.83,
	acts: 0.09,
};

/** Shares of the room that are kept from the start and the end, whatever stands there: the more room, the more at the start. */
export const endShares = { head: (maxChars: number) => Math.min(0.4, 0.1 + maxChars / 50_000), tail: 0.04 };
/** What lines around one that is named by the focus are worth, from two before it on. */
const namedWorth = [0, 1, 4, 2, 1];
const namedBefore = 2;
/** Characters over which the start of a text counts more. */
const frontReach = 4_000;
/** Lines over which a declaration reaches to those behind it, and words of the focus to those around them. */
const reaches = { declares: 4, focus: 12 };

/**
 * How much each unit is wanted, from what stands in it and around it; 0 for what says nothing by itself. With
 * `isEven` its place in the text does not count, as in texts of many equal parts.
 */
export function scoreLines(
	units: TextUnits,
	features: LineFeatures,
	{ isEven = false }: { readonly isEven?: boolean } = {},
): Float32Array {
	const { count } = units;
	const declaresAbove = decayed(features.declares, reaches.declares);
	const focusBefore = decayed(features.focus, reaches.focus);
	const focusBehind = decayed(features.focus.toReversed(), reaches.focus).reverse();
	const scores = new Float32Array(count);
	const placeOf = (unit: number) =>
		weights.late * (unit / count) + weights.front * Math.exp(-(units.start[unit] as number) / frontReach);
	const at = (values: Float32Array, unit: number) => values[unit] as number;
	for (let unit = 0; unit < count; unit += 1) {
		if (features.bare[unit] === 1) continue;
		const sum =
			weights.any +
			weights.focus * Math.log1p(at(features.focus, unit)) +
			weights.focusAround * Math.log1p(at(focusBefore, unit) + at(focusBehind, unit)) +
			weights.fresh * Math.sqrt(at(features.fresh, unit)) +
			weights.names * Math.sqrt(at(features.names, unit)) +
			weights.central * Math.log1p(at(features.central, unit)) +
			weights.declares * at(features.declares, unit) +
			weights.declaresAbove * at(declaresAbove, unit) +
			weights.comment * at(features.comment, unit) +
			weights.imports * at(features.imports, unit) +
			weights.fails * at(features.fails, unit) +
			weights.quotes * at(features.quotes, unit) +
			weights.shallow / (1 + at(features.indent, unit) / 4) +
			(isEven ? 0 : placeOf(unit)) +
			weights.acts * at(features.acts, unit);
		scores[unit] = Math.max(0, sum);
	}
	raiseNamed(scores, features);
	return scores;
}

/** Raises the lines that name what the focus names and few others do, and those behind and before them. */
function raiseNamed(scores: Float32Array, { named, bare }: LineFeatures): void {
	for (const unit of named) {
		for (const [index, more] of namedWorth.entries()) {
			const near = unit + index - namedBefore;
			if (near < 0 || near >= scores.length || bare[near] === 1) continue;
			scores[near] = Math.max(scores[near] as number, more);
		}
	}
}

/** What stands before each unit, less the farther it is. */
function decayed(own: Float32Array, reach: number): Float32Array {
	const decay = Math.exp(-1 / reach);
	const sums = new Float32Array(own.length);
	for (let unit = 1, sum = 0; unit < own.length; unit += 1) {
		sum = (sum + (own[unit - 1] as number)) * decay;
		sums[unit] = sum;
	}
	return sums;
}
