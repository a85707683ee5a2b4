/** Numbers in [0, 1), the same on every machine for the same seed (mulberry32). */
export function createRandom(seed: number): () => number {
	let state = seed >>> 0;
	return () => {
		state = (state + 0x6d2b79f5) >>> 0;
		let mixed = Math.imul(state ^ (state >>> 15), state | 1);
		mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
		return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
	};
}

/** One of the values, each as likely. */
export function pick<Value>(random: () => number, values: readonly Value[]): Value {
	const value = values[Math.floor(random() * values.length)];
	if (value === undefined) throw new Error("Expected at least one value to pick from.");
	return value;
}
