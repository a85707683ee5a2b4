import { fillTemplate } from "../../masking/template.ts";
import type { HeadTailLimits } from "../truncate/head-tail.ts";
import type { Ends } from "./head-and-tail.ts";

/** How many characters of each end `cutEnds` may need. */
export function endsNeeded({ maxChars, headChars, tailChars }: HeadTailLimits): {
	readonly headChars: number;
	readonly tailChars: number;
} {
	// One more at each side tells whether a cut would part a surrogate pair.
	return { headChars: Math.max(headChars, maxChars) + 1, tailChars: Math.max(tailChars, maxChars) + 1 };
}

/** A text cut to its head and tail. */
export interface CutEnds {
	readonly text: string;
	readonly omittedChars: number;
}

/**
 * What `truncateHeadTail` makes of a text over the limit of which only the ends are at hand: the same, character by
 * character, by the same rule. `marker` has its {ref} filled.
 */
export function cutEnds(ends: Ends, limits: HeadTailLimits): CutEnds {
	const { maxChars, headChars, tailChars, marker } = limits;
	const asked = cut(ends, headChars, tailChars, marker);
	if (headChars + tailChars <= maxChars && asked.text.length < ends.chars) return asked;
	const room = Math.max(0, maxChars - fillMarker(marker, ends.chars, ends.chars).length);
	const kept = headChars + tailChars;
	const headShare = kept === 0 ? 0 : Math.floor((room * headChars) / kept);
	const fitted = cut(ends, headShare, kept === 0 ? 0 : room - headShare, marker);
	if (fitted.text.length <= maxChars) return fitted;
	const text = headOf(ends, maxChars);
	return { text, omittedChars: ends.chars - text.length };
}

/** The least limit with which a text over it is cut with a marker. */
export function leastLimitOf(ends: Ends, { headChars, tailChars, marker }: Omit<HeadTailLimits, "maxChars">): number {
	const asked = cut(ends, headChars, tailChars, marker);
	const markerLength = fillMarker(marker, ends.chars, ends.chars).length;
	return Math.min(markerLength, asked.text.length < ends.chars ? headChars + tailChars : ends.chars);
}

function cut(ends: Ends, headChars: number, tailChars: number, marker: string): CutEnds {
	const head = headOf(ends, headChars);
	const tail = tailOf(ends, Math.min(tailChars, ends.chars - head.length));
	const omittedChars = ends.chars - head.length - tail.length;
	return { text: head + fillMarker(marker, omittedChars, ends.chars) + tail, omittedChars };
}

function fillMarker(marker: string, omittedChars: number, originalChars: number): string {
	return fillTemplate(marker, { omitted_chars: omittedChars, original_chars: originalChars });
}

function headOf({ head }: Ends, chars: number): string {
	return head.slice(0, splitsPair(head, chars) ? chars - 1 : chars);
}

function tailOf({ tail }: Ends, chars: number): string {
	const start = tail.length - chars;
	return tail.slice(splitsPair(tail, start) ? start + 1 : start);
}

function splitsPair(text: string, index: number): boolean {
	const before = text.charCodeAt(index - 1);
	const after = text.charCodeAt(index);
	return before >= 0xd800 && before <= 0xdbff && after >= 0xdc00 && after <= 0xdfff;
}
