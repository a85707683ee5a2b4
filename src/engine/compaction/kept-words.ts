import type { CountTokens } from "../conversation/measure.ts";
import { fillTemplate } from "../masking/template.ts";
import type { LocaleName } from "../policy/names.ts";
import { ruleSpans, type Span } from "./rules.ts";

/** A text of a person. The first of a conversation and the last three are never cut. */
interface WrittenText {
	readonly text: string;
	readonly isWhole: boolean;
}

/** The newest texts that are never cut. */
const wholeLast = 3;

/** Marks which of the texts of people in a conversation, in order, are kept whole in any case. */
export function markWhole(texts: readonly string[]): WrittenText[] {
	return texts.map((text, index) => ({ text, isWhole: index === 0 || index >= texts.length - wholeLast }));
}

/**
 * Cuts the oldest texts between the first and the last until all take at most `most` tokens, where that is possible. A cut
 * text keeps its head, its tail and the lines that state a rule, and says how much is left out.
 */
export function keepWithin(given: {
	readonly texts: readonly WrittenText[];
	readonly most: number;
	readonly countTokens: CountTokens;
	readonly locale: LocaleName;
}): { readonly texts: readonly string[]; readonly cut: number } {
	const { texts, most, countTokens, locale } = given;
	const sizes = texts.map(({ text }) => countTokens(text));
	let left = sizes.reduce((sum, size) => sum + size, 0);
	let cut = 0;
	const kept = texts.map(({ text, isWhole }, index) => {
		if (left <= most || isWhole) return text;
		const shorter = cutWords(text, locale);
		if (shorter === text) return text;
		left += countTokens(shorter) - (sizes[index] as number);
		cut += 1;
		return shorter;
	});
	return { texts: kept, cut };
}

/** A text that no room is left for: its head, its tail, and the lines that state a rule if these fit too. */
export function shortenWords(text: string, locale: LocaleName, fits: (text: string) => boolean): string {
	const withRules = cutWords(text, locale);
	return fits(withRules) ? withRules : cutWords(text, locale, []);
}

/**
 * The texts in a room of so many characters. Where they do not fit, the first has the room, then the last three, then those
 * with a rule, then the others, the newest first; `short` counts those that are cut or left out. With `marksGaps`, a mark
 * says how many characters are left out between the texts.
 */
export function wordsWithin(given: {
	readonly texts: readonly string[];
	readonly mostChars: number;
	readonly locale: LocaleName;
	readonly marksGaps?: boolean;
}): { readonly text: string | undefined; readonly short: number } {
	const { texts, mostChars, locale, marksGaps = false } = given;
	const whole = writeWords(texts, locale);
	if (whole === undefined || whole.length <= mostChars) return { text: whole, short: 0 };
	const places = [...texts.keys()].filter((index) => !marksGaps || !gapMark.test(texts[index] as string));
	const ranks = new Map<number, number>();
	for (const [nth, { text, isWhole }] of markWhole(places.map((index) => texts[index] as string)).entries()) {
		ranks.set(places[nth] as number, nth === 0 ? 0 : isWhole ? 1 : ruleSpans(text).length > 0 ? 2 : 3);
	}
	const order = places.toSorted((a, b) => (ranks.get(a) as number) - (ranks.get(b) as number) || b - a);
	const kept = new Map<number, string>();
	const separator = dashesFor(texts).length + 2;
	let left = mostChars - wordsHeadings[locale].length - separator;
	let short = 0;
	for (const index of order) {
		const text = texts[index] as string;
		const fits = (one: string) => one.length + separator <= left;
		const fitting = fits(text) ? text : [cutWords(text, locale), cutWords(text, locale, [])].find(fits);
		if (fitting !== text) short += 1;
		if (fitting === undefined) continue;
		kept.set(index, fitting);
		left -= fitting.length + separator;
	}
	if (marksGaps) return { text: writeWithGaps(kept, given), short };
	const inOrder = [...kept].toSorted(([a], [b]) => a - b);
	return {
		text: writeWords(
			inOrder.map(([, text]) => text),
			locale,
		),
		short,
	};
}

/** The kept texts, those of least rank last, and a mark for each gap between them. Texts go until the marks have room. */
function writeWithGaps(
	kept: Map<number, string>,
	{ texts, mostChars, locale }: Parameters<typeof wordsWithin>[0],
): string | undefined {
	for (;;) {
		const shown: string[] = [];
		let gap = 0;
		const closeGap = () => {
			if (gap > 0) shown.push(fillTemplate(gapMarks[locale], { omitted_chars: gap }));
			gap = 0;
		};
		for (const [index, text] of texts.entries()) {
			const fitting = kept.get(index);
			if (fitting === undefined) {
				gap += lengthOf(text);
				continue;
			}
			closeGap();
			shown.push(fitting);
		}
		closeGap();
		const text = writeWords(shown, locale);
		const last = [...kept.keys()].at(-1);
		if (last === undefined || (text?.length ?? 0) <= mostChars) return text;
		kept.delete(last);
	}
}

/** A mark of an earlier gap has the length of that gap. */
function lengthOf(text: string): number {
	const chars = gapMark.exec(text)?.[1];
	return chars === undefined ? text.length : Number(chars);
}

/** The words that may not be missing afterwards: the texts that are kept whole, and every rule, in order. */
export function pinnedWords(texts: readonly WrittenText[]): string[] {
	return texts.flatMap(({ text, isWhole }) => {
		const rules = ruleSpans(text).map(({ start, end }) => text.slice(start, end));
		return isWhole ? [text, ...rules] : rules;
	});
}

const headChars = 400;
const tailChars = 200;
/** A shorter gap would be about as long as its mark. */
const leastGap = 60;

const gapMarks: Readonly<Record<LocaleName, string>> = {
	fr: "[… {omitted_chars} caractères …]",
	en: "[… {omitted_chars} characters …]",
	zh: "[… {omitted_chars} 个字符 …]",
};

const gapMark = /^\[… (\d+) (?:caractères|characters|个字符) …\]$/;

function cutWords(text: string, locale: LocaleName, rules: readonly Span[] = ruleSpans(text)): string {
	const head = { start: 0, end: beforeCharacter(text, headChars) };
	const tail = { start: beforeCharacter(text, text.length - tailChars), end: text.length };
	let written = "";
	let end = 0;
	for (const span of [head, ...rules, tail].toSorted((a, b) => a.start - b.start)) {
		if (span.end <= end) continue;
		const gap = span.start - end;
		if (gap < leastGap) written += text.slice(end, span.end);
		else written += `\n${fillTemplate(gapMarks[locale], { omitted_chars: gap })}\n${sliceOf(text, span)}`;
		end = span.end;
	}
	return written.length < text.length ? written : text;
}

const sliceOf = (text: string, { start, end }: Span) => text.slice(start, end);

/** Never between the halves of a surrogate pair. */
function beforeCharacter(text: string, at: number): number {
	return /[\uDC00-\uDFFF]/.test(text.charAt(at)) ? at - 1 : at;
}

/** The line above the words. */
const wordsHeadings: Readonly<Record<LocaleName, string>> = {
	fr: "Ce que l'utilisateur a écrit, mot pour mot, du plus ancien au plus récent :",
	en: "What the user wrote, word for word, oldest first:",
	zh: "用户原话，逐字保留，由旧到新：",
};

/** The texts between lines of dashes that none of them has, below a heading; `undefined` if there is none. */
export function writeWords(texts: readonly string[], locale: LocaleName): string | undefined {
	if (texts.length === 0) return undefined;
	const dashes = dashesFor(texts);
	return `${[wordsHeadings[locale], ...texts].join(`\n${dashes}\n`)}\n${dashes}`;
}

function dashesFor(texts: readonly string[]): string {
	let dashes = "---";
	const lines = new Set(texts.flatMap((text) => text.split("\n")));
	while (lines.has(dashes)) dashes += "-";
	return dashes;
}

/** Reads the words at the end of a text, in any language, and where their heading begins. */
export function readWords(text: string): { readonly at: number; readonly texts: readonly string[] } | undefined {
	const dashes = /\n(-{3,})\s*$/.exec(text)?.[1];
	if (dashes === undefined) return undefined;
	const headings = Object.values(wordsHeadings).map((heading) => `${heading}\n${dashes}\n`);
	const [at, heading = ""] = headings
		.map((one) => [lastLine(text, one), one] as const)
		.reduce((one, other) => (other[0] > one[0] ? other : one));
	if (at === -1) return undefined;
	const body = text.trimEnd().slice(at + heading.length, -dashes.length - 1);
	return { at, texts: body.split(`\n${dashes}\n`) };
}

function lastLine(text: string, start: string): number {
	const at = text.lastIndexOf(`\n${start}`);
	return at === -1 ? (text.startsWith(start) ? 0 : -1) : at + 1;
}
