/** Texts in order, none of which is to be split. */
export type Pieces = readonly string[];

/** Splits pieces in two of about the same number of characters; `undefined` where there are fewer than two. */
export function splitInTwo(pieces: Pieces): readonly [Pieces, Pieces] | undefined {
	if (pieces.length < 2) return undefined;
	const half = pieces.reduce((sum, piece) => sum + piece.length, 0) / 2;
	let end = 0;
	let chars = 0;
	// A piece belongs to the first half where more than half of it lies there.
	while (end < pieces.length - 1 && chars + (pieces[end]?.length ?? 0) / 2 <= half) {
		chars += pieces[end]?.length ?? 0;
		end += 1;
	}
	end = Math.max(1, end);
	return [pieces.slice(0, end), pieces.slice(end)];
}

/**
 * Packs pieces, in order, into as few parts as go by filling one after the other: each within `budget`, by what `weigh`
 * gives. A piece that is over it by itself is a part of its own.
 */
export function packPieces(pieces: Pieces, weigh: (piece: string) => number, budget: number): readonly Pieces[] {
	const parts: string[][] = [];
	let weight = 0;
	for (const piece of pieces) {
		const own = weigh(piece);
		const part = parts.at(-1);
		if (part && weight + own <= budget) {
			part.push(piece);
			weight += own;
		} else {
			parts.push([piece]);
			weight = own;
		}
	}
	return parts;
}
