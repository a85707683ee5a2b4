import type { NoticeWording } from "./notice-wordings.ts";

/** A half-open range of characters (UTF-16 code units) of the text that was given. */
export interface CharRange {
	readonly start: number;
	readonly end: number;
}

/** A shortened text. */
export interface Draft {
	readonly text: string;
	/** What of the original stands in it, in order, none touching the next. */
	readonly kept: readonly CharRange[];
	/** The notice at the top, where there is room for one, then the marks in the gaps, in order. */
	readonly notices: readonly string[];
}

/** Shortens a text that was looked at once to any number of characters; the draft never has more. */
export type Shorten = (maxChars: number) => Draft;

/** What stands in the place of what is left out. */
export interface Marks {
	readonly wording: NoticeWording;
	/** Where the whole is archived; `undefined` where it is not. */
	readonly ref: string | undefined;
}

/** Adds a range behind others, joined to the last where it touches it. */
export function addRange(ranges: CharRange[], start: number, end: number): void {
	const last = ranges.at(-1);
	if (end <= start) return;
	if (last && last.end === start) ranges[ranges.length - 1] = { start: last.start, end };
	else ranges.push({ start, end });
}
