import { countGrammar, noRef, refGrammar, refIn } from "../masking/placeholder.ts";
import { fillTemplate, templateFinder, templatePattern } from "../masking/template.ts";

/** How much of a text is kept, and what stands in the gap. */
export interface HeadTailLimits {
	/** Characters (UTF-16 code units) up to which a text is left whole. */
	readonly maxChars: number;
	readonly headChars: number;
	readonly tailChars: number;
	/** Template of the marker in the gap; variables {omitted_chars}, {original_chars} and {ref}. */
	readonly marker: string;
}

/** The reference under which the whole of a text is archived; `undefined` where it is not. */
export type RefOf = (text: string) => string | undefined;

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
 * Keeps head and tail of a text over the limit, with a marker between (docs/specs/context-window-guard.md#truncation). At the limit it is
 * left whole; one character over, it is cut. The result is never longer than the text, and never ends or starts with
 * half a character. Where head, tail and marker together would not be shorter, both give way until all fits the limit.
 * A text that is already such a result is left as it is.
 */
export function truncateHeadTail(text: string, limits: HeadTailLimits, refOf: RefOf = () => undefined): Truncation {
	if (text.length <= limits.maxChars || isAlreadyCut(text, limits))
		return { text, truncated: false, originalChars: text.length, omittedChars: 0, omitted: undefined };
	const marker = fillTemplate(limits.marker, { ref: refOf(text) ?? noRef });
	return cutEnds({ head: text, tail: text, chars: text.length }, { ...limits, marker });
}

/**
 * Cuts a text over the limit of which at least the ends are at hand (`endsNeeded`), by the rule of `truncateHeadTail`. The
 * marker has its {ref} filled.
 */
export function cutEnds(ends: Ends, { maxChars, headChars, tailChars, marker }: HeadTailLimits): Truncation {
	const { head, chars } = ends;
	const asked = cut(ends, { headChars, tailChars, marker });
	const isShorter = asked.text.length < chars;
	if (headChars + tailChars <= maxChars && isShorter) return asked;
	const markerLength = fillMarker(marker, chars, chars).length;
	const room = Math.max(0, maxChars - markerLength);
	const kept = headChars + tailChars;
	const headShare = kept === 0 ? 0 : Math.floor((room * headChars) / kept);
	const fitted = cut(ends, { headChars: headShare, tailChars: kept === 0 ? 0 : room - headShare, marker });
	if (fitted.text.length <= maxChars) return fitted;
	// The limit leaves no room for a marker, so the bare head is all that can be kept within it.
	const end = splitsPair(head, maxChars) ? maxChars - 1 : maxChars;
	return {
		text: head.slice(0, end),
		truncated: true,
		originalChars: chars,
		omittedChars: chars - end,
		omitted: { start: end, end: chars },
		leastLimit: Math.min(markerLength, isShorter ? kept : chars),
	};
}

/** How many characters of each end `cutEnds` needs. */
export function endsNeeded({ maxChars, headChars, tailChars }: Omit<HeadTailLimits, "marker">) {
	// One more at each side tells whether a cut would part a surrogate pair.
	return { headChars: Math.max(headChars, maxChars) + 1, tailChars: Math.max(tailChars, maxChars) + 1 };
}

function cut(
	{ head, tail, chars }: Ends,
	{ headChars, tailChars, marker }: Omit<HeadTailLimits, "maxChars">,
): Truncation {
	let end = Math.min(headChars, chars);
	if (splitsPair(head, end)) end -= 1;
	const before = chars - tail.length;
	let start = Math.max(end, chars - tailChars);
	if (splitsPair(tail, start - before)) start += 1;
	return {
		text: head.slice(0, end) + fillMarker(marker, start - end, chars) + tail.slice(start - before),
		truncated: true,
		originalChars: chars,
		omittedChars: start - end,
		omitted: { start: end, end: start },
	};
}

function fillMarker(marker: string, omittedChars: number, originalChars: number): string {
	return fillTemplate(marker, { omitted_chars: omittedChars, original_chars: originalChars });
}

function splitsPair(text: string, index: number): boolean {
	return isHighSurrogate(text.charCodeAt(index - 1)) && isLowSurrogate(text.charCodeAt(index));
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

export interface Ends {
	readonly head: string;
	/** Its last characters; overlaps with the head where the text is short. */
	readonly tail: string;
	readonly chars: number;
}

/**
 * Keeps the first and the last characters of a text whose whole is never held: no more than head, twice the tail and one
 * piece are, whatever the length of the text.
 */
export function readEnds(limits: { readonly headChars: number; readonly tailChars: number }) {
	const { headChars, tailChars } = limits;
	let head = "";
	let recent: string[] = [];
	let recentChars = 0;
	let chars = 0;
	const lastOf = () => (tailChars === 0 ? "" : recent.join("").slice(-tailChars));
	return {
		push(piece: string): void {
			if (piece === "") return;
			if (head.length < headChars) head += piece.slice(0, headChars - head.length);
			recent.push(piece);
			recentChars += piece.length;
			if (recentChars > 2 * tailChars + 65_536) {
				recent = [lastOf()];
				recentChars = recent[0]?.length ?? 0;
			}
			chars += piece.length;
		},
		ends: (): Ends => ({ head, tail: lastOf(), chars }),
	};
}

/** What the variables of a marker may be. */
const markerGrammar = { omitted_chars: countGrammar, original_chars: countGrammar, ref: refGrammar };

/** A marker found in a text: what stands before and behind it is head and tail of the text that was cut. */
export interface FoundMarker {
	readonly head: string;
	readonly tail: string;
	/** Where the whole text is archived; `undefined` where the marker does not say. */
	readonly ref: string | undefined;
}

/** Finds the markers of any of the templates in a text, in order. */
export function markerFinder(templates: readonly string[]): (text: string) => FoundMarker[] {
	const finders = templates.map((template) => {
		return { finder: templateFinder(template, markerGrammar), literal: longestLiteral(template) };
	});
	return (text) =>
		finders
			// Most texts hold no marker, which its longest literal part tells at once.
			.filter(({ literal }) => text.includes(literal))
			.flatMap(({ finder }) =>
				Array.from(text.matchAll(finder), (found) => ({
					head: text.slice(0, found.index),
					tail: text.slice(found.index + found[0].length),
					ref: refIn(found.groups?.ref),
				})),
			);
}

/** The longest part of a template that stands in every text made of it. */
export function longestLiteral(template: string): string {
	return template.split(/\{\w+\}/).reduce((longest, part) => (part.length > longest.length ? part : longest));
}

const count = "\\d+";
const grammar = { omitted_lines: count, total_lines: count, omitted_chars: count, total_chars: count, ref: refGrammar };

/** A notice found in a shortened text. */
export interface FoundNotice {
	/** Where the whole text is archived; `undefined` where the notice does not say. */
	readonly ref: string | undefined;
	/** Characters of the whole, escape sequences of terminals aside; `undefined` where the notice does not say. */
	readonly totalChars: number | undefined;
	/** Whether it stands where a strategy writes it: at the top of the text, or first in its JSON. */
	readonly isAtTop: boolean;
}

const longestBeforeTop = 100;

/** What stands before a notice at the top of a text: nothing, or the opening of JSON. */
const beforeTop = /^(?:\[?\s*\{\s*"_+truncated"\s*:\s*")?$/;

/** Finds the notices of any of the templates in a text. */
export function noticeFinder(templates: readonly string[]): (text: string) => FoundNotice[] {
	const finders = templates.map((template) => {
		const opening = template.split(/\{\w+\}/, 1)[0] ?? "";
		return { finder: templateFinder(template, grammar), opening };
	});
	return (text) =>
		finders
			// Most texts hold no notice, which its opening tells at once.
			.filter(({ opening }) => text.includes(opening))
			.flatMap(({ finder }) =>
				Array.from(text.matchAll(finder), ({ groups, index }) => ({
					ref: refIn(groups?.ref),
					totalChars: groups?.total_chars === undefined ? undefined : Number(groups.total_chars),
					isAtTop: index < longestBeforeTop && beforeTop.test(text.slice(0, index)),
				})),
			);
}

/** Longest stretch that is searched for the end of a character, in UTF-16 code units; no sensible character is longer. */
const longestCharacter = 80;

/** Below this code unit every one but CR LF is a character by itself. */
const firstCombining = 0x300;

/** Made once it is needed: that takes longer than all else in a text of plain characters. */
let segmenter: Intl.Segmenter | undefined;

/**
 * The last place at or before `end` where a text can be cut without splitting what a reader takes for one character: a
 * surrogate pair, a letter with its marks, a flag, a joined emoji (Unicode UAX 29). `start` must be such a place.
 * Answers at least `start`. A run of more than 80 code units that is one character by the rules may be split between
 * code points.
 */
export function characterEdge(text: string, start: number, end: number): number {
	if (end <= start) return start;
	if (end >= text.length) return text.length;
	const [before, after] = [text.charCodeAt(end - 1), text.charCodeAt(end)];
	if (before < firstCombining && after < firstCombining) return before === 13 && after === 10 ? end - 1 : end;
	const from = startOfSearch(text, start, end);
	segmenter ??= new Intl.Segmenter("und", { granularity: "grapheme" });
	const found = segmenter.segment(text.slice(from, end + longestCharacter)).containing(end - from);
	const edge = found ? from + found.index : end;
	if (edge > start && end - edge <= longestCharacter) return edge;
	if (end - start <= 1) return edge;
	return isLowSurrogate(after) && isHighSurrogate(before) ? end - 1 : end;
}

/** A place before `end` where a character certainly starts: behind the last plain one, or `start`. */
function startOfSearch(text: string, start: number, end: number): number {
	for (let at = end - 1; at > start; at -= 1) {
		if (text.charCodeAt(at) < firstCombining && text.charCodeAt(at - 1) < firstCombining) return at;
	}
	return start;
}

function isHighSurrogate(unit: number): boolean {
	return unit >= 0xd800 && unit <= 0xdbff;
}

function isLowSurrogate(unit: number): boolean {
	return unit >= 0xdc00 && unit <= 0xdfff;
}

/** How often a character stands in a text. */
export function countOf(text: string, character: string): number {
	let count = 0;
	for (let at = text.indexOf(character); at !== -1; at = text.indexOf(character, at + 1)) count += 1;
	return count;
}
