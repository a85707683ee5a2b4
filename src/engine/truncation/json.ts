import { fillTemplate } from "../masking/template.ts";
import { addRange, type CharRange, type Draft, type Marks } from "./draft.ts";
import { encodedMark } from "./encoded.ts";
import type { JsonFailures } from "./failures.ts";
import { type FocusWords, focusFinder } from "./focus.ts";
import { countGaps, type Entry, fillLevel, pickEntries } from "./json-entries.ts";
import {
	failureLength,
	isLeaf,
	isString,
	type JsonSizes,
	keyLength,
	markLength,
	measureJson,
	shortest,
} from "./json-sizes.ts";
import { endOfString, type JsonSpans, valueKinds } from "./json-spans.ts";
import { partsOfString } from "./json-strings.ts";

interface ShortenJsonParameters {
	readonly spans: JsonSpans;
	readonly marks: Marks;
	readonly focus: FocusWords;
	readonly failures: JsonFailures;
	readonly noticeOf: (keptChars: number) => string;
}

/** Below this depth a value that does not fit is omitted. */
const deepest = 48;
/** An item is shown in part if it gets this many characters. */
const showable = 160;
/** Characters of a value in which focus words are looked for. */
const longestRead = 20_000;
/** The number of kept characters is known at the end, so this reserves the position of the notice. */
const topMark = "\u0000notice\u0000";

/**
 * Shortens JSON so that it stays valid. A long list keeps its first and last items, those with failures and those with
 * focus words; long strings are cut; keys stay if they fit. Kept values keep their spelling, without white space
 * between them. Marks are objects or keys named `_truncated`.
 */
export function shortenJson(parameters: ShortenJsonParameters): (maxChars: number) => Draft {
	const { spans, marks, focus, failures, noticeOf } = parameters;
	const sizes = measureJson(spans, failures, marks.wording);
	const scoresOf = startScores(spans, focus);
	const longest = noticeOf(0);
	const markOfNotice = (notice: string) => `"${sizes.markKey}":${JSON.stringify(notice)}`;

	return (maxChars) => {
		if (shortest(sizes, 0) > maxChars) return tiny(spans, maxChars);
		const output: JsonOutput = { text: spans.text, sizes, scoresOf, parts: [], ranges: [], notices: [], keptChars: 0 };
		const hasNotice = !isLeaf(sizes, 0) && markOfNotice(longest).length + 4 <= maxChars / 3;
		write(output, 0, { room: maxChars, depth: 0, notice: hasNotice ? longest : undefined });
		const { parts, ranges, notices } = output;
		const notice = noticeOf(output.keptChars);
		if (hasNotice) notices.unshift(notice);
		const top = parts.findIndex((part) => part === topMark || part === `{${topMark}}`);
		if (top !== -1) parts[top] = (parts[top] as string).replace(topMark, () => markOfNotice(notice));
		return { text: parts.join(""), kept: ranges, notices };
	};
}

/** What is written so far. */
interface JsonOutput {
	readonly text: string;
	readonly sizes: JsonSizes;
	readonly scoresOf: (parent: number, children: readonly number[]) => readonly number[];
	readonly parts: string[];
	readonly ranges: CharRange[];
	readonly notices: string[];
	keptChars: number;
}

interface ValuePlace {
	readonly room: number;
	readonly depth: number;
	/** Of the whole text, in its first value. */
	readonly notice: string | undefined;
}

function write(output: JsonOutput, value: number, { room, depth, notice }: ValuePlace): void {
	const { sizes } = output;
	const { size, spans } = sizes;
	const fits = (size[value] as number) <= room && notice === undefined;
	const isWhole = fits && !sizes.holdsEncoded(value);
	if (isWhole || isLeaf(sizes, value)) {
		if (isWhole) copyWhole(output, value);
		else writeLeaf(output, value, room);
		return;
	}
	const isObject = spans.kind[value] === valueKinds.object;
	const top = notice === undefined ? 0 : `{"${sizes.markKey}":${JSON.stringify(notice)}},`.length;
	// A value that fits has one comma less than entries.
	const inner = room - 2 - top + (fits ? 1 : 0);
	const children = childrenOf(spans, value);
	const gapCost = markLength(sizes, value) + 1;
	const scores = output.scoresOf(value, children);
	const entries = children.map((child, index) => entryOf(sizes, child, { score: scores[index] ?? 0, inner, gapCost }));
	const picked = depth >= deepest ? [] : pickEntries({ entries, room: inner, gapCost, isObject });
	const kept = picked.map((index) => entries[index] as Entry);
	const levels = fillLevel(kept, inner - countGaps(picked, entries.length, isObject) * gapCost);
	const places = picked.map((index, place) => ({
		index,
		child: children[index] as number,
		room: levels[place] as number,
	}));
	writeChildren(output, value, { places, count: children.length, depth, hasNotice: notice !== undefined });
}

interface PickedChildren {
	/** The children that are shown, in order, with their room in characters, key and comma included. */
	readonly places: readonly { readonly index: number; readonly child: number; readonly room: number }[];
	readonly count: number;
	readonly depth: number;
	readonly hasNotice: boolean;
}

function writeChildren(output: JsonOutput, value: number, { places, count, depth, hasNotice }: PickedChildren): void {
	const { sizes, parts } = output;
	const { wording, spans } = sizes;
	const isObject = spans.kind[value] === valueKinds.object;
	const isLines = spans.kind[value] === valueKinds.lines;
	let written = 0;
	const separate = () => {
		if (written > 0) parts.push(isLines ? "\n" : ",");
		written += 1;
	};
	const markGap = (omitted: number) => {
		if (omitted <= 0) return;
		separate();
		const notice = fillTemplate(isObject ? wording.keys : wording.items, { omitted, total: count });
		output.notices.push(notice);
		const gap = `"${sizes.markKey}":${JSON.stringify(notice)}`;
		parts.push(isObject ? gap : `{${gap}}`);
	};
	if (!isLines) parts.push(isObject ? "{" : "[");
	if (hasNotice) {
		separate();
		parts.push(isObject ? topMark : `{${topMark}}`);
	}
	let before = -1;
	for (const { index, child, room } of places) {
		if (!isObject) markGap(index - before - 1);
		before = index;
		separate();
		if (keyLength(sizes, child) > 0) {
			copy(output, spans.keyStart[child] as number, spans.keyEnd[child] as number);
			parts.push(":");
		}
		write(output, child, { room: room - keyLength(sizes, child) - 1, depth: depth + 1, notice: undefined });
	}
	markGap(isObject ? count - places.length : count - 1 - before);
	if (!isLines) parts.push(isObject ? "}" : "]");
}

function entryOf(
	sizes: JsonSizes,
	child: number,
	{ score, inner, gapCost }: { readonly score: number; readonly inner: number; readonly gapCost: number },
): Entry {
	const size = sizes.size[child] as number;
	const extra = keyLength(sizes, child) + 1;
	const least = shortest(sizes, child);
	const failure = sizes.failures.rankOf(child);
	const needed = failure === undefined ? 0 : Math.min(failureLength(sizes, child), inner - extra - 2 * gapCost);
	return {
		full: extra + size,
		least: extra + Math.max(least, needed),
		wanted: extra + Math.max(Math.min(size, Math.max(least, showable)), needed),
		score,
		failure: failure ?? Number.POSITIVE_INFINITY,
	};
}

function writeLeaf(output: JsonOutput, value: number, room: number): void {
	const { sizes, parts } = output;
	const { spans, wording } = sizes;
	const quote = isString(sizes, value) ? 1 : 0;
	let at = (spans.start[value] as number) + quote;
	const until = (spans.end[value] as number) - quote;
	const omitUntil = (end: number) => {
		if (end <= at) return;
		const data = sizes.encodedAt(value).find((one) => one.start === at && one.end === end);
		const notice = data ? encodedMark(data, wording) : fillTemplate(wording.inside, { omitted_chars: end - at });
		output.notices.push(notice);
		parts.push(JSON.stringify(notice).slice(1, -1));
	};
	parts.push('"');
	const shown = isString(sizes, value) ? partsOfString(sizes, value, { from: at, to: until, room: room - 2 }) : [];
	for (const { start, end } of shown) {
		omitUntil(start);
		copy(output, start, end);
		at = end;
	}
	omitUntil(until);
	parts.push('"');
}

/** Copies a value without white space between its parts. */
function copyWhole(output: JsonOutput, value: number): void {
	const { text, start, end } = output.sizes.spans;
	const until = end[value] as number;
	for (let at = start[value] as number; at < until; ) {
		const unit = text.charCodeAt(at);
		const to = unit === 34 ? endOfString(text, at) : at + 1;
		if (unit > 32) copy(output, at, to);
		at = to;
	}
}

function copy(output: JsonOutput, from: number, to: number): void {
	const { text, parts, ranges } = output;
	parts.push(text.slice(from, to));
	output.keptChars += to - from;
	// Between two kept values there is only white space and punctuation.
	const last = ranges.at(-1);
	if (last && from - last.end < 200 && !/[^\s,:[\]{}]/.test(text.slice(last.end, from)))
		addRange(ranges, last.end, from);
	addRange(ranges, from, to);
}

function childrenOf({ next }: JsonSpans, value: number): number[] {
	const children: number[] = [];
	for (let child = value + 1; child < (next[value] as number); child = next[child] as number) children.push(child);
	return children;
}

/** How well the children of a value match the focus. Words that few of them contain weigh most. */
function startScores({ text, keyStart, start, end }: JsonSpans, focus: FocusWords) {
	const focusWordsIn = focusFinder(focus);
	const scores = new Map<number, readonly number[]>();
	const wordsOf = (value: number) => {
		const from = keyStart[value] || (start[value] as number);
		return focusWordsIn(text.slice(from, Math.min(end[value] as number, from + longestRead)));
	};
	return (parent: number, children: readonly number[]): readonly number[] => {
		const known = scores.get(parent);
		if (known !== undefined) return known;
		const found = children.map(wordsOf);
		const times = new Map<string, number>();
		for (const one of found.flat()) times.set(one, (times.get(one) ?? 0) + 1);
		const rarity = (one: string) => Math.log(Math.max(1, children.length) / (times.get(one) ?? 1));
		const scored = found.map((here) => here.reduce((sum, one) => sum + (focus.get(one) ?? 0) * rarity(one), 0));
		scores.set(parent, scored);
		return scored;
	};
}

/** The shortest valid JSON of the same kind; an ellipsis if there is no room for it. */
function tiny({ kind }: JsonSpans, maxChars: number): Draft {
	const least = kind[0] === valueKinds.object ? "{}" : kind[0] === valueKinds.array ? "[]" : '""';
	return { text: maxChars < 2 ? "…".slice(0, maxChars) : least, kept: [], notices: [] };
}
