import type { CountTokens } from "../engine/measure.ts";
import { createCountMemo } from "./count-memo.ts";
import { countPieces } from "./count-pieces.ts";
import { cutIntoWindows } from "./cut-into-windows.ts";
import { hasLongRun } from "./has-long-run.ts";
import { mergeLongPiece } from "./merge-long-piece.ts";
import { createRankTable, type RankTable } from "./rank-table.ts";

/** One encoding, as gpt-tokenizer ships it. */
export interface EncodingParts {
	tokenizer: {
		countTokens(text: string, options: { disallowedSpecial: Set<string>; allowedSpecial: Set<string> }): number;
		setMergeCacheSize(entries: number): void;
		clearMergeCache(): void;
	};
	/** Matches one piece after the other: no token spans two. */
	splitPattern: RegExp;
	/** The encoding's tokens by rank. */
	tokens: readonly (string | readonly number[])[];
}

const longRun = 128;
const longestShortPiece = 128;
// The split pattern exhausts V8's stack for regular expressions on unbroken runs of some five million characters.
const windowSize = 2_000_000;
// gpt-tokenizer's cache holds slices of the caller's texts, and so the texts whole. Emptied after every call it would
// make many small calls twenty times slower; emptied after this many characters it holds no more text than that.
const cachedCharacters = 100_000;
const memoLimits = { entries: 50_000, shortText: 64 };
const specialTokensAsText = { disallowedSpecial: new Set<string>(), allowedSpecial: new Set<string>() };

/**
 * A counter over one encoding of gpt-tokenizer that adds what it lacks: special tokens are counted as the text they
 * are, lone surrogates as U+FFFD, unbroken runs in near linear time, and no large text is held after the call.
 */
export function createCounter(encoding: EncodingParts): CountTokens {
	const { tokenizer, tokens, splitPattern } = encoding;
	tokenizer.setMergeCacheSize(1000);
	let ranks: RankTable | undefined;
	let uncleared = 0;

	function countShort(text: string): number {
		return tokenizer.countTokens(text, specialTokensAsText);
	}

	function countLong(piece: string): number {
		ranks ??= createRankTable(tokens);
		return mergeLongPiece(piece, ranks);
	}

	const counting = { splitPattern, longestShortPiece, countShort, countLong };

	function countGuarded(text: string): number {
		if (!hasLongRun(text, longRun)) return countShort(text);
		let count = 0;
		for (const window of cutIntoWindows(text, windowSize)) count += countPieces(window, counting);
		return count;
	}

	function count(text: string): number {
		const counted = countGuarded(text.toWellFormed());
		uncleared += text.length;
		if (uncleared >= cachedCharacters) {
			tokenizer.clearMergeCache();
			uncleared = 0;
		}
		return counted;
	}

	const memo = createCountMemo(count, memoLimits);
	return (text) => (text === "" ? 0 : memo.count(text));
}
