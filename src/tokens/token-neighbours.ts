import { createPieceMerger } from "./merge-piece.ts";
import { rankOf, type TokenTable } from "./token-table.ts";

/**
 * The longest token that may stand at `place` behind the token `before`, out of the token `longest` and those that it
 * starts with; -1 where none may. Two tokens may stand side by side where merging the bytes of both leaves these two.
 */
export type FindNeighbour = (view: DataView, place: number, before: number, longest: number) => number;

const answerBits = 16;

/**
 * Undoes the merges of both tokens, the last one first, and asks each time whether the parts that touch would have been
 * merged before what came next. Which two parts make a token is worked out once, when first asked for.
 */
export function createFindNeighbour(table: TokenTable, within: (token: number) => number): FindNeighbour {
	const { starts, tokens, size } = table;
	const merge = createPieceMerger(table);
	// Rank + 1 of the two parts whose merge makes the token, or its own for a single byte; 0 where not asked for yet.
	const firstParts = new Int32Array(size);
	const secondParts = new Int32Array(size);

	function split(rank: number): void {
		const start = starts[rank] as number;
		const length = (starts[rank + 1] as number) - start;
		if (length === 1) {
			firstParts[rank] = rank + 1;
			secondParts[rank] = rank + 1;
			return;
		}
		const { tokens: left, lastSplit } = merge(tokens.view, start, length);
		if (left !== 1) throw new Error(`no merges make token ${rank} of the table: install gpt-tokenizer again`);
		firstParts[rank] = rankOf(table, tokens.view, start, lastSplit) + 1;
		secondParts[rank] = rankOf(table, tokens.view, start + lastSplit, length - lastSplit) + 1;
	}

	function firstPart(rank: number): number {
		if (firstParts[rank] === 0) split(rank);
		return (firstParts[rank] as number) - 1;
	}

	function secondPart(rank: number): number {
		if (secondParts[rank] === 0) split(rank);
		return (secondParts[rank] as number) - 1;
	}

	// Answers given lately: 18 bits for each of the three tokens, the answer's + 1.
	const answers = new Int32Array(2 << answerBits);

	function findNeighbour(view: DataView, place: number, before: number, longest: number): number {
		const slot = 2 * (Math.imul(before ^ Math.imul(longest, 0x9e3779b1), 0x85ebca6b) >>> (32 - answerBits));
		const known = answers[slot + 1] as number;
		if (answers[slot] === ((before + 1) | (longest << 18)) && (known & 0xf) === longest >>> 14)
			return (known >>> 4) - 1;
		let token = longest;
		while (token >= 0 && !mayTouch(view, place, before, token)) token = within(token);
		answers[slot] = (before + 1) | (longest << 18);
		answers[slot + 1] = (longest >>> 14) | ((token + 1) << 4);
		return token;
	}

	function mayTouch(view: DataView, place: number, before: number, after: number): boolean {
		let left = before;
		let right = after;
		// Only merges of a lower rank than this come before the ones undone so far.
		let limit = size;
		for (;;) {
			const from = place - ((starts[left + 1] as number) - (starts[left] as number));
			const to = place + ((starts[right + 1] as number) - (starts[right] as number));
			const together = rankOf(table, view, from, to - from);
			if (together >= 0 && together < limit) return false;
			// Of equal ranks the left one is merged first, and so undone last.
			const leftFirst = left > right;
			const undoneLeft = secondPart(left);
			const undoneRight = firstPart(right);
			if (leftFirst ? undoneLeft !== left : undoneRight === right) {
				if (undoneLeft === left) return true;
				limit = left;
				left = undoneLeft;
			} else {
				if (undoneRight === right) return true;
				limit = right + 1;
				right = undoneRight;
			}
		}
	}

	return findNeighbour;
}
