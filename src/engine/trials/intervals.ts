/** An interval of 95 %. */
export interface Interval {
	readonly low: number;
	readonly high: number;
}

const z = 1.959963984540054;

/** A share's interval: Wilson, “Probable inference, the law of succession, and statistical inference”, JASA 22 (1927); `null` for 0. */
export function wilson(successes: number, all: number): Interval | null {
	if (all === 0) return null;
	const share = successes / all;
	const scale = 1 + z ** 2 / all;
	const centre = share + z ** 2 / (2 * all);
	const half = z * Math.sqrt((share * (1 - share)) / all + z ** 2 / (4 * all ** 2));
	return { low: Math.max(0, (centre - half) / scale), high: Math.min(1, (centre + half) / scale) };
}

/** How many pairs of runs were solved by both, by one alone, and by neither. */
export interface SolvedPairs {
	readonly both: number;
	readonly first: number;
	readonly second: number;
	readonly neither: number;
}

/**
 * The interval of the difference between the solved shares of the first and the second: Newcombe, “Improved confidence intervals for the
 * difference between binomial proportions based on paired data”, Statistics in Medicine 17 (1998), method 10. It has a width
 * also where no pair differs. `null` for no pairs.
 */
export function pairedShares({ both, first, second, neither }: SolvedPairs): Interval | null {
	const all = both + first + second + neither;
	const [one, other] = [wilson(both + first, all), wilson(both + second, all)];
	if (!one || !other) return null;
	const [share, otherShare] = [(both + first) / all, (both + second) / all];
	const phi = correlation({ both, first, second, neither });
	const apart = (by: number, otherBy: number) => Math.sqrt(by ** 2 - 2 * phi * by * otherBy + otherBy ** 2);
	const difference = share - otherShare;
	return {
		low: difference - apart(share - one.low, other.high - otherShare),
		high: difference + apart(one.high - share, otherShare - other.low),
	};
}

/** With a correction for continuity where it is positive. */
function correlation({ both, first, second, neither }: SolvedPairs): number {
	const product = (both + first) * (second + neither) * (both + second) * (first + neither);
	if (product === 0) return 0;
	const half = (both + first + second + neither) / 2;
	const cross = both * neither - first * second;
	return (cross > 0 ? Math.max(0, cross - half) : cross) / Math.sqrt(product);
}

/** The interval of a mean, by Student's t. `null` for fewer than two values. */
export function meanInterval(values: readonly number[]): Interval | null {
	if (values.length < 2) return null;
	const centre = mean(values);
	const squares = values.reduce((sum, value) => sum + (value - centre) ** 2, 0);
	const half = (t95(values.length - 1) * Math.sqrt(squares / (values.length - 1))) / Math.sqrt(values.length);
	return { low: centre - half, high: centre + half };
}

export function mean(values: readonly number[]): number {
	return values.reduce((sum, value) => sum + value, 0) / values.length;
}

const ofFew = [12.7062, 4.30265, 3.18245, 2.77645, 2.57058, 2.44691, 2.36462, 2.306, 2.26216, 2.22814] as const;

/** The 97.5th percentile of Student's t: a table, then the expansion of Abramowitz and Stegun, 26.7.5. */
function t95(degrees: number): number {
	const known = ofFew[degrees - 1];
	if (known !== undefined) return known;
	const terms = [
		z,
		(z ** 3 + z) / 4,
		(5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96,
		(3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / 384,
	];
	return terms.reduce((sum, term, power) => sum + term / degrees ** power, 0);
}
