/** The value at a share (0 to 1) of the sorted values, between two of them by straight line. */
export function quantile(values: readonly number[], share: number): number {
	if (values.length === 0) throw new Error("Expected at least one value.");
	const sorted = [...values].sort((left, right) => left - right);
	const place = (sorted.length - 1) * share;
	const below = sorted[Math.floor(place)] ?? 0;
	const above = sorted[Math.ceil(place)] ?? 0;
	return below + (above - below) * (place - Math.floor(place));
}

/** The middle value. */
export function median(values: readonly number[]): number {
	return quantile(values, 0.5);
}

/** The geometric mean, which is the fair mean of ratios. */
export function geometricMean(values: readonly number[]): number {
	return Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);
}

/** The k of y ~ x^k, by least squares on the logarithms: 1 is linear, 2 quadratic. */
export function growthExponent(points: readonly { readonly x: number; readonly y: number }[]): number {
	const logs = points.map(({ x, y }) => ({ x: Math.log(x), y: Math.log(y) }));
	const meanX = logs.reduce((sum, { x }) => sum + x, 0) / logs.length;
	const meanY = logs.reduce((sum, { y }) => sum + y, 0) / logs.length;
	const covariance = logs.reduce((sum, { x, y }) => sum + (x - meanX) * (y - meanY), 0);
	return covariance / logs.reduce((sum, { x }) => sum + (x - meanX) ** 2, 0);
}
