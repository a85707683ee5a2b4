import { stripVTControlCharacters } from "node:util";
import type {
	OutputTruncation,
	TruncateOutputParameters,
	TruncationBudget,
} from "../../../src/engine/truncation/draft.ts";
import { readPassing, shortenPassed } from "../../../src/engine/truncation/stream.ts";
import { truncateOutput } from "../../../src/engine/truncation/truncate.ts";
import { noticesOf } from "../../support/notices-of.ts";

export const strategies = ["auto", "head_tail", "json", "log", "diff", "table", "html", "binary", "focus"] as const;

export const ref = "0123456789abcdef0123456789abcdef";

/** Shortens a text to a number of characters as the tools do: archived, in English, without colours. */
export function shorten(text: string, max: number, given: Partial<TruncateOutputParameters> = {}): OutputTruncation {
	return truncateOutput({
		text,
		budget: { unit: "chars", max },
		strategy: "auto",
		wording: noticesOf("en"),
		ref,
		stripAnsi: stripVTControlCharacters,
		...given,
	});
}

/** Where the ranges that a result keeps stand in it, one behind the other; `undefined` where one does not. */
export function findKept(text: string, { kept, text: shown }: OutputTruncation): number[] | undefined {
	const places: number[] = [];
	let from = 0;
	for (const { start, end } of kept) {
		const place = shown.indexOf(text.slice(start, end), from);
		if (place === -1) return undefined;
		places.push(place);
		from = place + end - start;
	}
	return places;
}

/** Shortens a text that comes in pieces, to characters or to a budget. */
export function shortenPieces(
	text: string,
	budget: TruncationBudget,
	{ mostChars = 8 * budget.max, pieceChars = 4_096, ...given }: PieceParameters = {},
) {
	const passing = readPassing(mostChars);
	for (let at = 0; at < text.length; at += pieceChars) passing.push(text.slice(at, at + pieceChars));
	return shortenPassed(passing.end(), { wording: noticesOf("en"), ref: undefined, budget, ...given });
}

interface PieceParameters extends Partial<Parameters<typeof shortenPassed>[1]> {
	/** Longest excerpt that is asked for, in characters. */
	readonly mostChars?: number;
	readonly pieceChars?: number;
}
