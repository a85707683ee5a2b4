import { countGrammar, noRef, refGrammar, refIn } from "../masking/placeholder.ts";
import { fillTemplate, templateFinder, templatePattern } from "../masking/template.ts";

/** In characters (UTF-16 code units). */
export interface HeadTailLimits {
	readonly maxChars: number;
	readonly headChars: number;
	readonly tailChars: number;
	/** Template of the marker between head and tail; variables {omitted_chars}, {original_chars} and {ref}. */
	readonly marker: string;
}

export type RefOf = (text: string) => string | undefined;

export interface Truncation {
	readonly text: string;
	readonly truncated: boolean;
	readonly originalChars: number;
	readonly omittedChars: number;
	/** The omitted part of the original, as a half-open range of characters. */
	readonly omitted: { readonly start: number; readonly end: number } | undefined;
	/** The least limit with room for the marker; only if the limit has none. */
	readonly leastLimit?: number;
}

/**
 * Cuts a text over the limit to its head and tail, with a marker between (docs/strategies.md#truncation).
 * The result is never longer than the text and splits no character. If head, tail and marker would not be shorter, head
 * and tail shrink until all fits the limit. A text that is already cut stays.
 */
export function truncateHeadTail(text: string, limits: HeadTailLimits, refOf: RefOf = () => undefined): Truncation {
	if (text.length <= limits.maxChars || isAlreadyCut(text, limits))
		return { text, truncated: false, originalChars: text.length, omittedChars: 0, omitted: undefined };
	const marker = fillTemplate(limits.marker, { ref: refOf(text) ?? noRef });
	return cutEnds({ head: text, tail: text, chars: text.length }, { ...limits, marker });
}

/** Cuts a text over the limit like `truncateHeadTail`, given its ends (`endsNeeded`). The {ref} of the marker is filled. */
export function cutEnds(ends: Ends, { maxChars, headChars, tailChars, marker }: HeadTailLimits): Truncation {
	const { head, chars } = ends;
	const requested = cut(ends, { headChars, tailChars, marker });
	const isShorter = requested.text.length < chars;
	if (headChars + tailChars <= maxChars && isShorter) return requested;
	const markerLength = fillMarker(marker, chars, chars).length;
	const room = Math.max(0, maxChars - markerLength);
	const kept = headChars + tailChars;
	const headShare = Math.floor((room * headChars) / Math.max(1, kept));
	const fitted = cut(ends, { headChars: headShare, tailChars: room - headShare, marker });
	if (fitted.text.length <= maxChars) return fitted;
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

export function endsNeeded({ maxChars, headChars, tailChars }: Omit<HeadTailLimits, "marker">) {
	// One more shows whether a cut would split a surrogate pair.
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
	return (text.codePointAt(index - 1) ?? 0) > 0xffff;
}

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

interface Ends {
	readonly head: string;
	/** The last characters. They overlap with the head of a short text. */
	readonly tail: string;
	readonly chars: number;
}

/** Collects the ends of a text that comes in pieces. Memory is bounded by head, twice the tail and one piece. */
export function readEnds(limits: { readonly headChars: number; readonly tailChars: number }) {
	const { headChars, tailChars } = limits;
	let head = "";
	let recent: string[] = [];
	let recentChars = 0;
	let chars = 0;
	const tail = () => (tailChars === 0 ? "" : recent.join("").slice(-tailChars));
	return {
		push(piece: string): void {
			if (piece === "") return;
			if (head.length < headChars) head += piece.slice(0, headChars - head.length);
			recent.push(piece);
			recentChars += piece.length;
			if (recentChars > 2 * tailChars + 65_536) {
				recent = [tail()];
				recentChars = recent[0]?.length ?? 0;
			}
			chars += piece.length;
		},
		ends: (): Ends => ({ head, tail: tail(), chars }),
	};
}

const markerGrammar = { omitted_chars: countGrammar, original_chars: countGrammar, ref: refGrammar };

export interface FoundMarker {
	readonly head: string;
	readonly tail: string;
	readonly ref: string | undefined;
}

export function markerFinder(templates: readonly string[]): (text: string) => FoundMarker[] {
	const matchesIn = matchFinder(templates, markerGrammar);
	return (text) =>
		matchesIn(text).map(({ 0: marker, index, groups }) => ({
			head: text.slice(0, index),
			tail: text.slice(index + marker.length),
			ref: refIn(groups?.ref),
		}));
}

function matchFinder(templates: readonly string[], grammar: Readonly<Record<string, string>>) {
	const finders = templates.map((template) => {
		return { pattern: templateFinder(template, grammar), literal: longestLiteral(template) };
	});
	return (text: string) =>
		finders
			// A quick test, because most texts contain no match.
			.filter(({ literal }) => text.includes(literal))
			.flatMap(({ pattern }) => [...text.matchAll(pattern)]);
}

export function longestLiteral(template: string): string {
	return template.split(/\{\w+\}/).reduce((longest, part) => (part.length > longest.length ? part : longest));
}

const count = "\\d+";
const noticeGrammar = {
	omitted_lines: count,
	total_lines: count,
	omitted_chars: count,
	total_chars: count,
	from: count,
	to: count,
	source_from: count,
	source_to: count,
	ref: refGrammar,
};

export interface FoundNotice {
	readonly ref: string | undefined;
	/** Characters of the original without escape sequences; `undefined` if the notice does not contain them. */
	readonly totalChars: number | undefined;
	/** Whether it is at the top of the text, or first in its JSON. */
	readonly isAtTop: boolean;
}

const longestBeforeTop = 100;
const beforeTop = /^(?:\[?\s*\{\s*"_+truncated"\s*:\s*")?$/;

export function noticeFinder(templates: readonly string[]): (text: string) => FoundNotice[] {
	const matchesIn = matchFinder(templates, noticeGrammar);
	return (text) =>
		matchesIn(text).map(({ groups, index }) => ({
			ref: refIn(groups?.ref),
			totalChars: groups?.total_chars === undefined ? undefined : Number(groups.total_chars),
			isAtTop: index < longestBeforeTop && beforeTop.test(text.slice(0, index)),
		}));
}

/** Most UTF-16 code units of a character that is not split. */
export const longestCharacter = 80;

/** Below this code unit, only CR LF is a character of two units. */
const firstCombining = 0x300;

/** Created on demand, because that is slow and most texts do not need it. */
let segmenter: Intl.Segmenter | undefined;

/**
 * The last place from `start` to `end` where a text can be cut without splitting a grapheme cluster: a surrogate pair, a
 * letter with its marks, a flag, a joined emoji (Unicode UAX 29). `start` must be such a place. A cluster of more than 80
 * code units may be split between code points.
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
	return splitsPair(text, end) ? end - 1 : end;
}

/** A place before `end` where a character certainly starts, or `start`. */
function startOfSearch(text: string, start: number, end: number): number {
	for (let at = end - 1; at > start; at -= 1) {
		if (text.charCodeAt(at) < firstCombining && text.charCodeAt(at - 1) < firstCombining) return at;
	}
	return start;
}

export function countOf(text: string, character: string): number {
	let count = 0;
	for (let at = text.indexOf(character); at !== -1; at = text.indexOf(character, at + 1)) count += 1;
	return count;
}
