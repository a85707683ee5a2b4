import type { CountTokens } from "../engine/measure.ts";

/** What is needed to count a text piece by piece. */
export interface PieceCounting {
	/** The encoding's own pattern (global): its matches are the pieces. */
	splitPattern: RegExp;
	/** The longest piece, in UTF-16 code units, for `countShort`. */
	longestShortPiece: number;
	/** Counts text made of short pieces only. */
	countShort: CountTokens;
	/** Counts one long piece. */
	countLong: CountTokens;
}

/**
 * Counts a text whose pieces may be long: the long ones one by one, what stands between them together.
 *
 * Text may be counted apart only where it splits into the same pieces on its own. That holds up to the end of a piece
 * that ends in no white space; how a run of white space splits depends on what follows it.
 */
export function countPieces(text: string, counting: PieceCounting): number {
	const { splitPattern, longestShortPiece, countShort, countLong } = counting;
	let count = 0;
	let pendingFrom = 0;
	let pendingTo = 0;
	let spaced: string[] = [];
	for (const match of text.matchAll(splitPattern)) {
		const piece = match[0];
		const end = match.index + piece.length;
		if (piece.length > longestShortPiece) {
			if (pendingTo > pendingFrom) count += countShort(text.slice(pendingFrom, pendingTo));
			for (const each of spaced) count += countShort(each);
			count += countLong(piece);
			pendingFrom = end;
			pendingTo = end;
			spaced = [];
		} else if (/\s$/.test(piece)) {
			spaced.push(piece);
		} else {
			pendingTo = end;
			spaced = [];
		}
	}
	// The end of the text is the same end for its last pieces, white space or not.
	return pendingFrom < text.length ? count + countShort(text.slice(pendingFrom)) : count;
}
