/** Calls that a plot is drawn from at most: two for each pixel of a wide screen. */
export const mostDrawnCalls = 2_000;

/**
 * Which calls of a conversation a plot is drawn from: all of them where they are few, else the first, the last, and from
 * each of as many equal stretches as there is room for the smallest and the largest of `sizes`, so that the teeth of a
 * saw stay sharp. Positions in `sizes`, ascending.
 */
export function drawnCalls(sizes: readonly number[], most = mostDrawnCalls): number[] {
	if (sizes.length <= most) return sizes.map((_, call) => call);
	const stretches = Math.max(0, Math.floor((most - 2) / 2));
	const inner = sizes.length - 2;
	const drawn = [0];
	for (let stretch = 0; stretch < stretches; stretch += 1) {
		const from = 1 + Math.floor((stretch * inner) / stretches);
		const to = 1 + Math.floor(((stretch + 1) * inner) / stretches);
		let [least, largest] = [from, from];
		for (let call = from; call < to; call += 1) {
			if ((sizes[call] as number) < (sizes[least] as number)) least = call;
			if ((sizes[call] as number) > (sizes[largest] as number)) largest = call;
		}
		// A flat stretch has one call that is both.
		drawn.push(...new Set([Math.min(least, largest), Math.max(least, largest)]));
	}
	return [...drawn, sizes.length - 1];
}
