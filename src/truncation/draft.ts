import type { CountTokens } from "../conversation/measure.ts";
import { fillTemplate } from "../masking/template.ts";
import type { NoticeWordings } from "../policy/wordings.ts";
import { countOf } from "./head-tail.ts";
import type { Units } from "./lines.ts";

/** How a text is shortened; `auto` finds the way by the text's shape and the focus. */
export type TruncationStrategy = "auto" | "head_tail" | "json" | "log" | "diff" | "table" | "html" | "binary" | "focus";

/** What the shortened text may take at most, its notices included. */
export type TruncationBudget =
	/** UTF-16 code units. */
	| { readonly unit: "chars"; readonly max: number }
	| { readonly unit: "tokens"; readonly max: number; readonly countTokens: CountTokens };

export interface TruncateOutputParameters {
	readonly text: string;
	readonly budget: TruncationBudget;
	readonly strategy: TruncationStrategy;
	/** What whoever asked for the output is after: the arguments of the call, the words before it. */
	readonly focus?: string | undefined;
	/** Whether what put the text out is known to have failed: then lines that tell of failures get most of the room. */
	readonly hasFailed?: boolean | undefined;
	readonly wording: NoticeWordings;
	/** Where the whole is archived; the notice names it. */
	readonly ref?: string | undefined;
	/** Share of the room for the start, of what `head_tail` keeps; 0.5 where not given. */
	readonly headShare?: number | undefined;
	readonly keepAnsi?: boolean | undefined;
	/** A library's function that takes escape sequences out of a text. Without one they stay. */
	readonly stripAnsi?: ((text: string) => string) | undefined;
	/** A library's function that makes readable text of HTML. Without one HTML is cut as text. */
	readonly htmlToText?: ((html: string) => string) | undefined;
}

/** Lines of the original, from 1, both ends included. */
export interface LineSpan {
	readonly from: number;
	readonly to: number;
}

/** A shortened text, and what of the original it holds. */
export interface OutputTruncation {
	readonly text: string;
	/** Whether the text is another than the one given. */
	readonly truncated: boolean;
	/** The strategy that was used; `auto` never. */
	readonly strategy: Exclude<TruncationStrategy, "auto">;
	/**
	 * Half-open ranges of characters of the original that the text holds, in order. What it holds of them is the same
	 * but for escape sequences, for white space between values of JSON, and for lone surrogates, which become U+FFFD.
	 * None where the text was converted (`html`).
	 */
	readonly kept: readonly CharRange[];
	/** The rest of the original, but for single line ends between lines that are kept. */
	readonly omitted: readonly CharRange[];
	readonly omittedLines: readonly LineSpan[];
	/** `kept` counts lines of which nothing is left out. */
	readonly lines: { readonly total: number; readonly kept: number };
	/** `kept` is the length of the ranges kept, `after` of the text with its notices. */
	readonly chars: { readonly total: number; readonly kept: number; readonly after: number };
	/** Tokens before and after; only with a budget in tokens. */
	readonly tokens?: { readonly total: number; readonly after: number };
	/** The notice at the top and the marks in the gaps, in order. */
	readonly notices: readonly string[];
	/** Only where the budget leaves no room for the shortest notice: the least one that does. */
	readonly leastBudget?: number;
}

/** A half-open range of characters (UTF-16 code units) of the text that was given. */
export interface CharRange {
	readonly start: number;
	readonly end: number;
}

export interface Draft {
	readonly text: string;
	/** What of the original stands in it, in order, none touching the next. */
	readonly kept: readonly CharRange[];
	/** The notice at the top, where there is room for one, then the marks in the gaps, in order. */
	readonly notices: readonly string[];
}

/** Shortens a text that was looked at once to any number of characters; the draft never has more. */
export type Shorten = (maxChars: number) => Draft;

export interface Marks {
	readonly wording: NoticeWordings;
	/** Where the whole is archived; `undefined` where it is not. */
	readonly ref: string | undefined;
}

export function addRange(ranges: CharRange[], start: number, end: number): void {
	const last = ranges.at(-1);
	if (end <= start) return;
	if (last && last.end === start) ranges[ranges.length - 1] = { start: last.start, end };
	else ranges.push({ start, end });
}

const tries = 9;
/** Share of the budget from which on a try is near enough. */
const near = 0.98;
/** Characters from which the tokens of a character are first guessed. */
const guessed = 8_000;

/**
 * Shortens a text over its budget to at most that budget, in tokens as near to it as nine tries come. Of a text that is not
 * held whole, it is given the characters in all and some of them.
 */
export function fitBudget(
	text: string | { readonly chars: number; readonly some: string },
	shorten: Shorten,
	budget: TruncationBudget,
): Draft {
	const { chars, some } = typeof text === "string" ? { chars: text.length, some: text } : text;
	const shorter = chars - 1;
	if (budget.unit === "chars") return shorten(Math.min(budget.max, shorter));
	const { max, countTokens } = budget;
	const sample = some.length <= guessed ? some : some.slice(0, guessed / 2) + some.slice(-guessed / 2);
	const perToken = sample.length / Math.max(1, countTokens(sample));
	let [low, high] = [0, shorter + 1];
	let best: Draft | undefined;
	let size = Math.min(shorter, Math.ceil(max * perToken));
	for (let attempt = 0; attempt < tries && size > low && size < high; attempt += 1) {
		const draft = shorten(size);
		const tokens = countTokens(draft.text);
		if (tokens <= max) {
			best = draft;
			low = size;
			if (tokens >= max * near) break;
		} else high = size;
		const aimed = Math.floor((size * max * (tokens <= max ? 1 : near)) / Math.max(1, tokens));
		// A draft that does not fill its room tells nothing of how far to go.
		size = aimed > low && aimed < high ? aimed : Math.floor((low + high) / 2);
	}
	if (best) return best;
	for (let less = Math.min(high - 1, shorter); less > 0; less = Math.floor(less / 2)) {
		const draft = shorten(less);
		if (countTokens(draft.text) <= max) return draft;
	}
	return { text: "", kept: [], notices: [] };
}

interface AssembleParameters {
	readonly units: Units;
	readonly kept: readonly number[];
	readonly marks: Marks;
	readonly notice: NoticeKind;
	/** Whether all of `from` to `to` (not included) are like `unit`. */
	readonly isLike?: ((unit: number, from: number, to: number) => boolean) | undefined;
}

export type NoticeKind = "full" | "short" | "none";

/** Puts kept units together, with a notice at the top and a mark at each gap. */
export function assembleUnits({ units, kept, marks, notice, isLike }: AssembleParameters): Draft {
	const { line, start, end, count } = units;
	const ranges: CharRange[] = [];
	const notices: string[] = [];
	const parts: string[] = [];
	let keptLines = 0;
	let keptChars = 0;
	let before = -1;
	const mark = (one: string) => {
		notices.push(one);
		parts.push(one);
	};
	const insideMark = (from: number, to: number) =>
		mark(fillTemplate(marks.wording.inside, { omitted_chars: (end[to] as number) - (start[from] as number) }));
	const gap = (from: number, to: number) => {
		// Left out: the rest of the line before, whole lines, the start of the line behind.
		let [first, last] = [from, to - 1];
		const behind = before >= 0 ? line[before] : undefined;
		const ahead = to < count ? line[to] : undefined;
		if (behind !== undefined && line[first] === behind) {
			let rest = first;
			while (rest <= last && line[rest] === behind) rest += 1;
			insideMark(first, rest - 1);
			first = rest;
		}
		let opening = last + 1;
		while (opening > first && line[opening - 1] === ahead) opening -= 1;
		if (opening > first) {
			const lines = { from: line[first] as number, to: line[opening - 1] as number };
			if (parts.length > 0) parts.push("\n");
			const alike = before >= 0 && isLike?.(before, first, opening);
			mark(fillTemplate(alike ? marks.wording.folded : marks.wording.gap, lines));
		}
		last = opening;
		if (last < to) {
			if (parts.length > 0) parts.push("\n");
			insideMark(last, to - 1);
		} else if (to < count && parts.length > 0 && behind !== ahead) parts.push("\n");
	};
	for (const unit of kept) {
		if (unit > before + 1) gap(before + 1, unit);
		else if (before >= 0 && line[before] !== line[unit]) parts.push("\n");
		const [from, to] = [start[unit] as number, end[unit] as number];
		parts.push(units.slice(from, to));
		const isFirst = line[unit] !== line[unit - 1];
		const joined = before === unit - 1 && before >= 0 && isFirst;
		addRange(ranges, joined ? (end[before] as number) : from, to);
		keptChars += to - from;
		if (isFirst) keptLines += 1;
		before = unit;
	}
	if (before < count - 1) gap(before + 1, count);
	const body = parts.join("");
	const top = writeNotice(notice, marks, { units, keptLines, keptChars });
	if (top !== "") notices.unshift(top);
	return { text: top !== "" && body !== "" ? `${top}\n${body}` : top + body, kept: ranges, notices };
}

function writeNotice(
	kind: NoticeKind,
	{ wording, ref }: Marks,
	{ units, keptLines, keptChars }: { units: Units; keptLines: number; keptChars: number },
): string {
	if (kind === "none") return "";
	const full = ref === undefined ? wording.notice : wording.archived;
	const template = kind === "short" ? shortNotice({ wording, ref }) : full;
	return fillTemplate(template, {
		omitted_lines: units.lines - keptLines,
		total_lines: units.lines,
		omitted_chars: units.chars - keptChars,
		total_chars: units.chars,
		...(ref === undefined ? {} : { ref }),
	});
}

/** The notice for little room, with the reference filled in where there is one. Variable: {omitted_chars}. */
export function shortNotice({ wording, ref }: Marks): string {
	return ref === undefined ? wording.short : fillTemplate(wording.shortArchived, { ref });
}

/** Most characters that a notice and a mark can take, line feed included. */
export function longestMarks({ units, marks }: Pick<AssembleParameters, "units" | "marks">) {
	const { wording, ref } = marks;
	const { chars, lines } = units;
	const most = { omitted_chars: chars, total_chars: chars, omitted_lines: lines, total_lines: lines };
	const lengthOf = (template: string) => fillTemplate(template, { ...most, from: lines, to: lines }).length + 1;
	return {
		full: lengthOf(ref === undefined ? wording.notice : fillTemplate(wording.archived, { ref })),
		short: lengthOf(shortNotice(marks)),
		gap: Math.max(lengthOf(wording.gap), lengthOf(wording.folded)),
		inside: lengthOf(wording.inside),
	};
}

/** Where the lines of a text start, in characters; the end of the text stands behind the last. */
export function lineStarts(text: string): Uint32Array {
	const starts = new Uint32Array(countOf(text, "\n") + 2);
	let line = 1;
	for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) {
		starts[line] = at + 1;
		line += 1;
	}
	starts[line] = text.length;
	return starts;
}

/** The line, from 0, that a character stands in. */
function lineAt(starts: Uint32Array, at: number): number {
	let [low, high] = [0, starts.length - 2];
	while (low < high) {
		const middle = (low + high + 1) >> 1;
		if ((starts[middle] as number) <= at) low = middle;
		else high = middle - 1;
	}
	return low;
}

/**
 * Ranges of a text whose lines lost escape sequences, as ranges of the text that had them. Within a line that lost some
 * they are widened to its start or its end.
 */
export function rangesBeforeStripping(
	ranges: readonly CharRange[],
	before: Uint32Array,
	after: Uint32Array,
): CharRange[] {
	const place = (at: number, isEnd: boolean) => {
		const line = lineAt(after, isEnd ? at - 1 : at);
		const [own, next] = [after[line] as number, after[line + 1] as number];
		const [start, end] = [before[line] as number, before[line + 1] as number];
		if (next - own === end - start) return start + at - own;
		if (!isEnd) return start;
		// A line that is kept whole ends before its line feed.
		return at === next || line === after.length - 2 ? end : end - 1;
	};
	const moved: CharRange[] = [];
	for (const { start, end } of ranges) {
		const [from, to] = [place(start, false), place(end, true)];
		const last = moved.at(-1);
		if (last && from <= last.end) moved[moved.length - 1] = { start: last.start, end: Math.max(last.end, to) };
		else if (to > from) moved.push({ start: from, end: to });
	}
	return moved;
}

/** What is left out between kept ranges, line ends by themselves aside, and the lines that it touches. */
export function omittedRanges(text: string, kept: readonly CharRange[], starts: Uint32Array) {
	const omitted: CharRange[] = [];
	const omittedLines: { from: number; to: number }[] = [];
	let omittedCount = 0;
	let at = 0;
	for (const { start, end } of [...kept, { start: text.length, end: text.length }]) {
		if (start > at && !isLineEnd(text, at, start)) {
			omitted.push({ start: at, end: start });
			// The line feed before belongs to the line that is kept.
			const first = text[at] === "\n" ? at + 1 : at;
			const span = { from: lineAt(starts, first) + 1, to: lineAt(starts, start - 1) + 1 };
			const last = omittedLines.at(-1);
			if (last && span.from <= last.to + 1) {
				omittedCount += Math.max(0, span.to - last.to);
				last.to = Math.max(last.to, span.to);
			} else {
				omittedCount += span.to - span.from + 1;
				omittedLines.push(span);
			}
		}
		at = end;
	}
	return { omitted, omittedLines: omittedLines as readonly LineSpan[], omittedCount };
}

function isLineEnd(text: string, start: number, end: number): boolean {
	return end - start <= 2 && /^\r?\n$/.test(text.slice(start, end));
}
