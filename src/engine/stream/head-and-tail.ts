/** The two ends of a text that came piece by piece, and its sizes. */
export interface Ends {
	/** Its first characters. */
	readonly head: string;
	/** Its last characters; overlaps with the head where the text is short. */
	readonly tail: string;
	/** UTF-16 code units in all. */
	readonly chars: number;
	/** Line breaks in all. */
	readonly lineBreaks: number;
	/** Whether it ends with a line break. */
	readonly endsLine: boolean;
}

/** Takes a text piece by piece. */
export interface EndsReader {
	readonly push: (piece: string) => void;
	readonly ends: () => Ends;
}

/**
 * Keeps the first and the last characters of a text whose whole is never held: no more than head, twice the tail and one
 * piece are, whatever the length of the text.
 */
export function readEnds(limits: { readonly headChars: number; readonly tailChars: number }): EndsReader {
	const { headChars, tailChars } = limits;
	let head = "";
	let recent: string[] = [];
	let recentChars = 0;
	let chars = 0;
	let lineBreaks = 0;
	let endsLine = false;
	const lastOf = () => {
		const joined = recent.join("");
		return tailChars === 0 ? "" : joined.slice(-tailChars);
	};
	return {
		push(piece) {
			if (piece === "") return;
			if (head.length < headChars) head += piece.slice(0, headChars - head.length);
			recent.push(piece);
			recentChars += piece.length;
			if (recentChars > 2 * tailChars + 65_536) {
				recent = [lastOf()];
				recentChars = recent[0]?.length ?? 0;
			}
			chars += piece.length;
			for (let at = piece.indexOf("\n"); at !== -1; at = piece.indexOf("\n", at + 1)) lineBreaks += 1;
			endsLine = piece.endsWith("\n");
		},
		ends: () => ({ head, tail: lastOf(), chars, lineBreaks, endsLine }),
	};
}
