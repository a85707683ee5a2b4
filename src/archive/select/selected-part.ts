import type { PartRequest } from "./part.ts";

/** A part of an original that fits into a number of tokens, and what it is of the whole. */
export interface SelectedPart {
	/** For `grep`, lines as grep shows them: `12:` before a match, `12-` before its surroundings, `--` between groups. */
	readonly text: string;
	readonly tokens: number;
	/** Lines and characters (UTF-16 code units) of the whole original. */
	readonly total: { readonly lines: number; readonly chars: number };
	/** What is shown: lines from 1 on with both ends, characters from 0 on without the end; null where nothing is. */
	readonly shown: {
		readonly lines: { readonly first: number; readonly last: number };
		readonly chars: { readonly start: number; readonly end: number };
	} | null;
	/** For `grep`: lines that match, as far as was searched, and those shown; null otherwise. */
	readonly matches: { readonly found: number; readonly shown: number } | null;
	/** Characters that were asked for and are not shown; for `grep` 0, where `matches` tells. */
	readonly leftOutChars: number;
	/** How to ask for what was left out; null where all that was asked for is shown. */
	readonly next: PartRequest | null;
}

/** What a way of selecting makes of the segments that it has seen. */
export type Selection = Omit<SelectedPart, "tokens" | "total">;

/** A range of lines for people and models, which open ranges and single lines are too. */
export function rangeText(first: number, last: number): string {
	if (last === Number.POSITIVE_INFINITY) return `${first}-`;
	return first === last ? `${first}` : `${first}-${last}`;
}
