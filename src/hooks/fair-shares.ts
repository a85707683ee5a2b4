/** How much of a budget each of several texts gets: those that need less than an equal share leave the rest to the others. */
export function fairShares(lengths: readonly number[], budget: number): number[] {
	const shares = lengths.map(() => 0);
	let left = budget;
	const rising = lengths.map((length, index) => ({ length, index })).sort((a, b) => a.length - b.length);
	for (const [position, { length, index }] of rising.entries()) {
		const share = Math.min(length, Math.floor(left / (rising.length - position)));
		shares[index] = share;
		left -= share;
	}
	return shares;
}
