/**
 * Remembers a fact about each text between calls, since a conversation that grew by a turn holds the same texts again:
 * `guard` of 1 MB then takes 30 ms in place of 80 (`npm run bench -- guard`). The fact must follow from the text alone,
 * so that the owner can throw a full memory away. A memory holds 16 conversations of 1 MB: with twice as many, a server with a
 * heap of 128 MB spent its time in the garbage collector (`npm run soak`).
 */
export function createTextMemory(mostChars = 16_000_000) {
	const short = new Map();
	/** By a hash of their own; of two texts with the same hash only the later one is remembered. */
	const long = new Map();
	let chars = 0;
	return {
		find(text) {
			if (text.length <= longestHashed) return short.get(text);
			const known = long.get(hashOf(text));
			return known?.text === text ? known.fact : undefined;
		},
		remember(text, fact) {
			if (chars >= mostChars) return;
			chars += text.length;
			if (text.length <= longestHashed) short.set(text, fact);
			else long.set(hashOf(text), { text, fact });
		},
		isFull: () => chars >= mostChars,
	};
}
/** V8 hashes longer strings by their length alone, and results that were cut have the same length. */
const longestHashed = 16_000;
function hashOf(text) {
	let hash = text.length;
	for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
	return hash;
}
