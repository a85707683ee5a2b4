/**
 * A word that does not occur in the text, so that nothing in the text can end or begin what it delimits. It depends on
 * the text alone.
 */
export function delimiterFor(text: string): string {
	return wordNotIn(text, hashOf(text));
}

/** The first word from a number on, in a fixed order, that the text does not hold. */
export function wordNotIn(text: string, start: number): string {
	for (let number = start; ; number = (number + 0x9e3779b1) >>> 0) {
		const word = number.toString(36).padStart(7, "0");
		// A text of n characters holds fewer than n such words, so one is soon found.
		if (!text.includes(word)) return word;
	}
}

/** FNV-1a over UTF-16 code units, 32 bits. */
function hashOf(text: string): number {
	let hash = 0x811c9dc5;
	for (let index = 0; index < text.length; index += 1) {
		hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193) >>> 0;
	}
	return hash;
}
