import { stripVTControlCharacters } from "node:util";
import { truncateOutput } from "../../../src/engine/truncate/truncate-output.ts";
import type { OutputTruncation, TruncateOutputParameters } from "../../../src/engine/truncate/truncation-types.ts";
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
