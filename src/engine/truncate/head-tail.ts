import { noRef } from "../../masking/placeholder.ts";
import { fillTemplate, templatePattern } from "../../masking/template.ts";
import { markerGrammar } from "./marker.ts";

/** How much of a text is kept, and what stands in the gap. */
export interface HeadTailLimits {
	/** Characters (UTF-16 code units) up to which a text is left whole. */
	readonly maxChars: number;
	/** Characters kept from the start. */
	readonly headChars: number;
	/** Characters kept from the end. */
	readonly tailChars: number;
	/** Template of the marker in the gap; variables {omitted_chars}, {original_chars} and {ref}. */
	readonly marker: string;
}

/** The reference under which the whole of a text is archived; `undefined` where it is not. */
export type RefOf = (text: string) => string | undefined;

/** A text cut to its head and tail, or left whole. */
export interface Truncation {
	readonly text: string;
	readonly truncated: boolean;
	readonly originalChars: number;
	/** Characters of the original that the text no longer holds. */
	readonly omittedChars: number;
	/** The part of the original left out, as a half-open range of characters; `undefined` where nothing is. */
	readonly omitted: { readonly start: number; readonly end: number } | undefined;
	/** Only where the limit has no room for the marker, so that none stands in the text: the least limit that has. */
	readonly leastLimit?: number;
}

/**
 * Keeps head and tail of a text over the limit, with a marker between (seed 5, L1; seed 4, task 4). At the limit it is
 * left whole; one character over, it is cut. The result is never longer than the text, and never ends or starts with
 * half a character. Where head, tail and marker together would not be shorter, both give way until all fits the limit.
 * A text that is already such a result is left as it is.
 */
export function truncateHeadTail(text: string, given: HeadTailLimits, refOf: RefOf = () => undefined): Truncation {
	const whole: Truncation = { text, truncated: false, originalChars: text.length, omittedChars: 0, omitted: undefined };
	if (text.length <= given.maxChars || isAlreadyCut(text, given)) return whole;
	const limits = { ...given, marker: fillTemplate(given.marker, { ref: refOf(text) ?? noRef }) };

	const asked = cut(text, limits.headChars, limits.tailChars, limits.marker);
	const givesMoreThanAsked = limits.headChars + limits.tailChars > limits.maxChars;
	if (!givesMoreThanAsked && asked.text.length < text.length) return asked;

	const markerLength = fillMarker(limits.marker, text.length, text.length).length;
	const room = Math.max(0, limits.maxChars - markerLength);
	const kept = limits.headChars + limits.tailChars;
	const headShare = kept === 0 ? 0 : Math.floor((room * limits.headChars) / kept);
	const fitted = cut(text, headShare, kept === 0 ? 0 : room - headShare, limits.marker);
	if (fitted.text.length <= limits.maxChars) return fitted;
	// The limit leaves no room for a marker, so the bare head is all that can be kept within it.
	const leastAsked = asked.text.length < text.length ? limits.headChars + limits.tailChars : text.length;
	const end = endOfHead(text, limits.maxChars);
	const omittedChars = text.length - end;
	return {
		...whole,
		text: text.slice(0, end),
		truncated: true,
		omittedChars,
		omitted: { start: end, end: text.length },
		leastLimit: Math.min(markerLength, leastAsked),
	};
}

function cut(text: string, headChars: number, tailChars: number, marker: string): Truncation {
	const end = endOfHead(text, Math.min(headChars, text.length));
	const start = startOfTail(text, Math.max(end, text.length - tailChars));
	const omittedChars = start - end;
	return {
		text: text.slice(0, end) + fillMarker(marker, omittedChars, text.length) + text.slice(start),
		truncated: true,
		originalChars: text.length,
		omittedChars,
		omitted: { start: end, end: start },
	};
}

function fillMarker(marker: string, omittedChars: number, originalChars: number): string {
	return fillTemplate(marker, { omitted_chars: omittedChars, original_chars: originalChars });
}

function splitsPair(text: string, index: number): boolean {
	const before = text.charCodeAt(index - 1);
	const after = text.charCodeAt(index);
	return before >= 0xd800 && before <= 0xdbff && after >= 0xdc00 && after <= 0xdfff;
}

function endOfHead(text: string, end: number): number {
	return splitsPair(text, end) ? end - 1 : end;
}

function startOfTail(text: string, start: number): number {
	return splitsPair(text, start) ? start + 1 : start;
}

/** Whether `cut` has made the text of a longer one: then a marker stands exactly where head and tail end. */
export function isAlreadyCut(
	text: string,
	{ headChars, tailChars, marker }: Omit<HeadTailLimits, "maxChars">,
): boolean {
	const pattern = templatePattern(marker, markerGrammar);
	// A surrogate pair at the edge makes the head or the tail one shorter.
	for (const head of [headChars, Math.max(0, headChars - 1)]) {
		for (const tail of [tailChars, Math.max(0, tailChars - 1)]) {
			const gap = text.length - head - tail;
			if (gap <= marker.length + 40 && pattern.test(text.slice(head, text.length - tail))) return true;
		}
	}
	return false;
}
