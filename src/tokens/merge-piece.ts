import { rankOf, type TokenTable } from "./token-table.ts";

/** The longest piece, in bytes, that `createPieceMerger` is made for: its steps grow with the square of the length. */
export const longestMergedPiece = 128;

const noRank = 2 ** 31 - 1;

export interface PieceMerge {
	/** Number of tokens that byte-pair merging leaves. */
	readonly tokens: number;
	/** Where the second of the last two parts that were merged started, from the start of the piece; 0 without merges. */
	readonly lastSplit: number;
}

/** Merges the bytes of a short piece as the definition says: the pair of lowest rank first, leftmost among equals. */
export type MergePiece = (view: DataView, start: number, length: number) => PieceMerge;

/** A merger with its working memory; the result it returns is the same object each time. */
export function createPieceMerger(table: TokenTable): MergePiece {
	const starts = new Int32Array(longestMergedPiece + 2);
	const ranks = new Int32Array(longestMergedPiece + 2);
	const merge = { tokens: 0, lastSplit: 0 };

	function mergePiece(view: DataView, start: number, length: number): PieceMerge {
		const { pairs } = table;
		let best = noRank;
		let at = 0;
		for (let part = 0; part < length; part++) {
			starts[part] = start + part;
			const rank = part + 1 < length ? (pairs[view.getUint16(start + part)] as number) : -1;
			ranks[part] = rank < 0 ? noRank : rank;
			if (rank >= 0 && rank < best) {
				best = rank;
				at = part;
			}
		}
		starts[length] = start + length;
		let parts = length;
		let lastSplit = 0;
		while (best !== noRank) {
			lastSplit = (starts[at + 1] as number) - start;
			parts--;
			for (let part = at + 1; part < parts; part++) {
				starts[part] = starts[part + 1] as number;
				ranks[part] = ranks[part + 1] as number;
			}
			starts[parts] = starts[parts + 1] as number;
			ranks[at] = pairRank(view, at, parts);
			if (at > 0) ranks[at - 1] = pairRank(view, at - 1, parts);
			best = noRank;
			for (let part = 0; part < parts; part++) {
				const rank = ranks[part] as number;
				if (rank < best) {
					best = rank;
					at = part;
				}
			}
		}
		merge.tokens = parts;
		merge.lastSplit = lastSplit;
		return merge;
	}

	function pairRank(view: DataView, part: number, parts: number): number {
		if (part + 2 > parts) return noRank;
		const start = starts[part] as number;
		const rank = rankOf(table, view, start, (starts[part + 2] as number) - start);
		return rank < 0 ? noRank : rank;
	}

	return mergePiece;
}
