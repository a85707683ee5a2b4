/** Tokens of a text at least and at most, whichever of the encodings counts it. */
export interface TokenBounds {
	readonly least: number;
	readonly most: number;
}

/** Length of the longest token of o200k_base and of cl100k_base in bytes. */
export const longestTokenBytes = 128;

const chunk = 1 << 14;
const writer = Buffer.alloc(3 * chunk + 4);
const view = new DataView(writer.buffer, writer.byteOffset, writer.length);

/**
 * Certain bounds of a text's token count without counting it, for a small part of the time; see `leastTokens` and
 * `mostTokens`.
 */
export function tokenBounds(text: string): TokenBounds {
	const most = mostTokens(text);
	return { least: Math.max(Math.ceil(most / longestTokenBytes), countStarts(text)), most };
}

/** The text's bytes in UTF-8, three for a lone surrogate: no token is shorter than a byte. */
export function mostTokens(text: string): number {
	return Buffer.byteLength(text, "utf8");
}

/**
 * The text's bytes by the longest token's, or the number of words and numbers of ASCII that start the text or stand
 * behind another character of ASCII (an apostrophe aside, which may join two parts of a word): no piece of either
 * pattern holds two of them.
 */
export function leastTokens(text: string): number {
	return tokenBounds(text).least;
}

function countStarts(text: string): number {
	let starts = 0;
	for (let from = 0; from < text.length; from += chunk) {
		const bytes = writer.write(from === 0 && text.length <= chunk ? text : text.slice(from, from + chunk));
		// No ASCII, so that nothing starts here, and the next chunk has nothing before it.
		writer.fill(0xff, bytes, bytes + 4);
		starts += countChunkStarts(bytes, from === 0);
	}
	return starts;
}

/** Four bytes at a time: each step works on the highest bit of every byte, which the bytes of ASCII leave free. */
function countChunkStarts(bytes: number, startsText: boolean): number {
	let starts = 0;
	let lettersBefore = 0;
	let digitsBefore = 0;
	let joinsNotBefore = startsText ? 0x80 : 0;
	for (let at = 0; at < bytes; at += 4) {
		const word = view.getInt32(at, true);
		const ascii = ~word & 0x80808080;
		const low = word & 0x7f7f7f7f;
		const folded = low | 0x20202020;
		const letters = (folded + 0x1f1f1f1f) & ~(folded + 0x05050505) & ascii;
		const digits = (low + 0x50505050) & ~(low + 0x46464646) & ascii;
		const joinsNot = ((low ^ 0x27272727) + 0x7f7f7f7f) & ascii;
		const first = (letters & ~((letters << 8) | lettersBefore)) | (digits & ~((digits << 8) | digitsBefore));
		const started = first & ((joinsNot << 8) | joinsNotBefore);
		starts += Math.imul(started >>> 7, 0x01010101) >>> 24;
		lettersBefore = letters >>> 24;
		digitsBefore = digits >>> 24;
		joinsNotBefore = joinsNot >>> 24;
	}
	return starts;
}
