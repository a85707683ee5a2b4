/** Longest stretch that is searched for the end of a character, in UTF-16 code units; no sensible character is longer. */
const longestCharacter = 80;
/** Below this code unit every one but CR LF is a character by itself. */
const firstCombining = 0x300;

let segmenter: Intl.Segmenter | undefined;

/** Made once it is needed: that takes longer than all else in a text of plain characters. */
function graphemes(): Intl.Segmenter {
	segmenter ??= new Intl.Segmenter("und", { granularity: "grapheme" });
	return segmenter;
}

/**
 * The last place at or before `end` where a text can be cut without splitting what a reader takes for one character: a
 * surrogate pair, a letter with its marks, a flag, a joined emoji (Unicode UAX 29). `start` must be such a place.
 * Answers at least `start`. A run of more than 80 code units that is one character by the rules may be split between
 * code points.
 */
export function characterEdge(text: string, start: number, end: number): number {
	if (end <= start) return start;
	if (end >= text.length) return text.length;
	const [before, after] = [text.charCodeAt(end - 1), text.charCodeAt(end)];
	if (before < firstCombining && after < firstCombining) return before === 13 && after === 10 ? end - 1 : end;
	const from = startOfSearch(text, start, end);
	const found = graphemes()
		.segment(text.slice(from, end + longestCharacter))
		.containing(end - from);
	const edge = found ? from + found.index : end;
	if (edge > start && end - edge <= longestCharacter) return edge;
	return end - start > 1 && isLowSurrogate(after) && isHighSurrogate(before) ? end - 1 : end - start > 1 ? end : edge;
}

/** A place before `end` where a character certainly starts: behind the last plain one, or `start`. */
function startOfSearch(text: string, start: number, end: number): number {
	for (let at = end - 1; at > start; at -= 1) {
		if (text.charCodeAt(at) < firstCombining && text.charCodeAt(at - 1) < firstCombining) return at;
	}
	return start;
}

function isHighSurrogate(unit: number): boolean {
	return unit >= 0xd800 && unit <= 0xdbff;
}

function isLowSurrogate(unit: number): boolean {
	return unit >= 0xdc00 && unit <= 0xdfff;
}
