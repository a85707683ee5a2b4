import type { LineFeatures } from "./line-features.ts";
import type { TextUnits } from "./text-units.ts";

/** Characters over which the start of a text counts more. */
const frontReach = 16_000;
/** Characters under which a line counts as short. */
const shortLine = 20;

/**
 * What tells of a line being used later: the square root of the identifiers that stand nowhere before it; words of the
 * focus in it, rare ones weighing more, as a share of the most that any line holds; whether it assigns, calls or returns
 * something; how near it is to the margin, 1 there; how near to the start of the text, 1 there and falling over 16 000
 * characters; whether it differs from an earlier one in digits and bars at most; whether it is shorter than 20
 * characters; the logarithm of its length.
 */
export const signNames = ["fresh", "focus", "acts", "outer", "front", "repeated", "short", "length"] as const;

/** What each sign adds to the logarithm of what a line is worth. */
export type LineWeights = Readonly<Record<(typeof signNames)[number], number>>;

/**
 * Found by Poisson regression, with a ridge, of the strings that an agent takes from a line later on, over the results of
 * real conversations: test/real/truncate-cross-validation.test.ts finds them on one half and tells what they keep of the
 * other. Shrunk by a fifth, so that the choice is less bold than the estimate.
 */
export const lineWeights: LineWeights = {
	fresh: 0.67,
	focus: 0.54,
	acts: 0.26,
	outer: -0.72,
	front: 1.49,
	repeated: -1.47,
	short: -1.48,
	length: -0.24,
};

/** Shares of the room that are kept from the start and the end, whatever stands there: the more room, the more at the start. */
export const endShares = { head: (maxChars: number) => Math.min(0.4, 0.06 + maxChars / 60_000), tail: 0.04 };
/** What lines around one that is named by the focus are worth, from two before it on. */
const namedWorth = [0, 0.25, 1, 0.5, 0.25];
const namedBefore = 2;

/** How the lines of a text are judged. */
export interface LineJudgement {
	/** Leaves out the place in the text, as in texts of many equal parts. */
	readonly isEven?: boolean;
	readonly weights?: LineWeights;
}

/**
 * How much each unit is wanted, as a share of the most wanted one: how many strings are likely to be taken from it later,
 * by what stands in it. 0 for what says nothing by itself.
 */
export function scoreLines(
	units: TextUnits,
	features: LineFeatures,
	{ isEven = false, weights = lineWeights }: LineJudgement = {},
): Float32Array {
	const { count } = units;
	const signsOf = lineSigns(units, features, isEven);
	const factors = signNames.map((name) => weights[name]);
	const scores = new Float32Array(count);
	let top = 0;
	for (let unit = 0; unit < count; unit += 1) {
		if (features.bare[unit] === 1) continue;
		const signs = signsOf(unit);
		let sum = 0;
		for (let index = 0; index < factors.length; index += 1)
			sum += (factors[index] as number) * (signs[index] as number);
		const worth = Math.exp(sum);
		scores[unit] = worth;
		if (worth > top) top = worth;
	}
	if (top > 0) for (let unit = 0; unit < count; unit += 1) scores[unit] = (scores[unit] as number) / top;
	raiseNamed(scores, features);
	return scores;
}

/** Reads the signs of a unit, in the order of `signNames`, into the same array again and again. */
export function lineSigns(
	units: TextUnits,
	features: LineFeatures,
	isEven = false,
): (unit: number) => Readonly<Float64Array> {
	const { focus, fresh, acts, indent, repeated, length } = features;
	const mostFocus = focus.reduce((most, one) => Math.max(most, one), 0) || 1;
	const signs = new Float64Array(signNames.length);
	return (unit) => {
		const chars = length[unit] as number;
		signs[0] = Math.sqrt(fresh[unit] as number);
		signs[1] = (focus[unit] as number) / mostFocus;
		signs[2] = acts[unit] as number;
		signs[3] = 1 / (1 + (indent[unit] as number) / 4);
		signs[4] = isEven ? 0 : Math.exp(-(units.start[unit] as number) / frontReach);
		signs[5] = repeated[unit] as number;
		signs[6] = chars < shortLine ? 1 : 0;
		signs[7] = Math.log1p(chars);
		return signs;
	};
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
