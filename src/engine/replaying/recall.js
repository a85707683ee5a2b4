/** The strings of `findUses` in their order. Holders are the results that had the string before any cut. */
export function usesByCall({ calls, uses, cut }, kind) {
	let call = 0;
	return (cut?.whole.uses ?? uses)()[kind].flatMap((ofMessage, message) => {
		if (calls[call + 1] === message) call += 1;
		return ofMessage.map(({ text, holders }) => {
			return { call, text, holders, shownBy: cut ? holders.filter((place) => !cut.hides(place, kind, text)) : holders };
		});
	});
}
/** The results as a recall brings them back. */
export function wholeResults({ cut, results }) {
	return cut?.whole.results ?? results;
}
/** For each result, the place in `calls` of the first call that has it. */
export function callsAfter({ results, calls }) {
	let call = 0;
	return results.map(({ message }) => {
		while (calls[call] <= message) call += 1;
		return call;
	});
}
/** Counts the strings of `findUses` in calls that are not copied, and those in view of their LLM call. A part of a digest's item does not count. */
export function measureRecall(history, schedule) {
	const { calls, results, copied = 0 } = history;
	const countOf = (kind) => {
		const used = usesByCall(history, kind).filter(({ call }) => call >= copied);
		const isInView = ({ call, shownBy }) => shownBy.some((place) => schedule[place] > calls[call]);
		const masked = used.filter((use) => !isInView(use));
		const inDigest = masked.filter(({ text, holders }) =>
			holders.some((place) => results[place].digest.includes(text)),
		);
		return { used: used.length, inView: used.length - masked.length, inDigest: inDigest.length };
	};
	return { identifiers: countOf("identifiers"), lines: countOf("lines") };
}
