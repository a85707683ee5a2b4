/** The same numbers for the same seed, so that a task is the same each time. */
export function startRandom(seed) {
	let state = seed;
	const next = () => {
		state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
		return state / 2 ** 32;
	};
	const below = (limit) => Math.floor(next() * limit);
	const shuffled = (list) => {
		const placed = list.map((one) => ({ one, at: next() }));
		return placed.sort((first, second) => first.at - second.at).map(({ one }) => one);
	};
	return { below, pick: (list) => list[below(list.length)], shuffled };
}
