import { firstReaching } from "../conversation/lists.ts";
import type { CountTokens } from "../conversation/measure.ts";
import { fillTemplate } from "../masking/template.ts";
import type { NoticeWordings } from "../policy/wordings.ts";
import { encodedMark } from "./encoded.ts";
import { countOf } from "./head-tail.ts";
import type { Units } from "./lines.ts";

/** How a text is shortened; `auto` chooses by the shape of the text and the focus. */
export type TruncationStrategy = "auto" | "head_tail" | "json" | "log" | "diff" | "table" | "html" | "binary" | "focus";

/** The most characters or tokens of the shortened text, its notices included. */
export type TruncationBudget =
	/** UTF-16 code units. */
	| { readonly unit: "chars"; readonly max: number }
	| { readonly unit: "tokens"; readonly max: number; readonly countTokens: CountTokens };

export interface TruncateOutputParameters {
	readonly text: string;
	readonly budget: TruncationBudget;
	readonly strategy: TruncationStrategy;
	/** The purpose of the output: the arguments of the call, the words before it. */
	readonly focus?: string | undefined;
	/** Whether the command is known to have failed; then lines that report failures get most of the room. */
	readonly hasFailed?: boolean | undefined;
	readonly wording: NoticeWordings;
	readonly ref?: string | undefined;
	/** Share of the start in the room of `head_tail`; 0.5 by default. */
	readonly headShare?: number | undefined;
	readonly keepAnsi?: boolean | undefined;
	/** Removes escape sequences. Without it they stay. */
	readonly stripAnsi?: ((text: string) => string) | undefined;
	/** Converts HTML to readable text. Without it HTML is cut as text. */
	readonly htmlToText?: ((html: string) => string) | undefined;
}

/** Lines from 1, both ends included. */
export interface LineSpan {
	readonly from: number;
	readonly to: number;
}

export interface OutputTruncation extends Draft {
	readonly truncated: boolean;
	readonly strategy: Exclude<TruncationStrategy, "auto">;
	/** The rest of the original, without single line ends between kept lines. */
	readonly omitted: readonly CharRange[];
	readonly omittedLines: readonly LineSpan[];
	/** `kept` counts complete lines. */
	readonly lines: { readonly total: number; readonly kept: number };
	/** `kept` is the length of the kept ranges, `after` that of the text with its notices. */
	readonly chars: { readonly total: number; readonly kept: number; readonly after: number };
	readonly tokens?: { readonly total: number; readonly after: number };
	/** The least budget with room for the shortest notice; only if the budget has none. */
	readonly leastBudget?: number;
}

/** A half-open range of characters (UTF-16 code units) of the original. */
export interface CharRange {
	readonly start: number;
	readonly end: number;
}

export interface Draft {
	readonly text: string;
	/**
	 * The ranges of the original that the text contains, in order, none adjacent to the next. Their text differs only in
	 * escape sequences, white space between JSON values, and lone surrogates (now U+FFFD). Empty after a conversion (`html`).
	 */
	readonly kept: readonly CharRange[];
	/** The notice at the top, if there is room for it, then the marks of the gaps, in order. */
	readonly notices: readonly string[];
}

export type Shorten = (maxChars: number) => Draft;

export interface Marks {
	readonly wording: NoticeWordings;
	readonly ref: string | undefined;
}

export function addRange(ranges: CharRange[], start: number, end: number): void {
	const last = ranges.at(-1);
	if (end <= start) return;
	if (last && last.end === start) ranges[ranges.length - 1] = { start: last.start, end };
	else ranges.push({ start, end });
}

const tries = 9;
/** A draft with this share of the budget is close enough. */
const near = 0.98;
/** Characters of the sample that estimates the tokens per character. */
const sampled = 8_000;

/** Shortens a text to its budget; for tokens, in nine tries. A stream has `chars` characters; `some` is a part. */
export function fitBudget(
	text: string | { readonly chars: number; readonly some: string },
	shorten: Shorten,
	budget: TruncationBudget,
): Draft {
	const { chars, some } = typeof text === "string" ? { chars: text.length, some: text } : text;
	const shorter = chars - 1;
	if (budget.unit === "chars") return shorten(Math.min(budget.max, shorter));
	const { max, countTokens } = budget;
	const sample = some.length <= sampled ? some : some.slice(0, sampled / 2) + some.slice(-sampled / 2);
	const perToken = sample.length / Math.max(1, countTokens(sample));
	let [low, high] = [0, shorter + 1];
	let best: Draft | undefined;
	let size = Math.min(shorter, Math.ceil(max * perToken));
	for (let attempt = 0; attempt < tries && size > low; attempt += 1) {
		const draft = shorten(size);
		const tokens = countTokens(draft.text);
		let goal = max;
		if (tokens <= max) {
			best = draft;
			low = size;
			if (tokens >= max * near) break;
		} else {
			high = size;
			goal = max * near;
		}
		const aimed = Math.floor((size * goal) / Math.max(1, tokens));
		// If the draft does not fill its room, the size cannot be estimated from its tokens.
		size = aimed > low && aimed < high ? aimed : Math.floor((low + high) / 2);
	}
	if (best) return best;
	for (let less = high - 1; less > 0; less = Math.floor(less / 2)) {
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
	readonly isLike?: ((unit: number, from: number, to: number) => boolean) | undefined;
	/** Writes the marks of lines, instead of the usual ones. */
	readonly markOf?: ((from: number, to: number, lines: LineSpan) => string) | undefined;
}

export type NoticeKind = "full" | "short" | "none";

/** Joins kept units, with a notice at the top and a mark at each gap. */
export function assembleUnits({ units, kept, marks, notice, isLike, markOf }: AssembleParameters): Draft {
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
	const insideMark = (from: number, to: number) => {
		const data = from === to ? units.encoded.get(from) : undefined;
		const omitted_chars = (end[to] as number) - (start[from] as number);
		mark(data ? encodedMark(data, marks.wording) : fillTemplate(marks.wording.inside, { omitted_chars }));
	};
	const gap = (from: number, to: number) => {
		const [lineBefore, lineBehind] = [line[before], line[to]];
		let first = from;
		while (first < to && line[first] === lineBefore) first += 1;
		if (first > from) insideMark(from, first - 1);
		let last = to;
		while (last > first && line[last - 1] === lineBehind) last -= 1;
		if (last > first) {
			const lines = { from: line[first] as number, to: line[last - 1] as number };
			if (parts.length > 0) parts.push("\n");
			const isAlike = before >= 0 && isLike?.(before, first, last);
			const template = isAlike ? marks.wording.folded : marks.wording.gap;
			const data = last - first === 1 ? units.encoded.get(first) : undefined;
			const plain = () => (data ? encodedMark(data, marks.wording) : fillTemplate(template, lines));
			mark(markOf ? markOf(first, last, lines) : plain());
		}
		if (parts.length > 0 && to < count && lineBefore !== lineBehind) parts.push("\n");
		if (last < to) insideMark(last, to - 1);
	};
	for (const unit of kept) {
		gap(before + 1, unit);
		const [from, to] = [start[unit] as number, end[unit] as number];
		parts.push(units.slice(from, to));
		const isFirst = line[unit] !== line[unit - 1];
		const joined = before === unit - 1 && before >= 0 && isFirst;
		addRange(ranges, joined ? (end[before] as number) : from, to);
		keptChars += to - from;
		if (isFirst) keptLines += 1;
		before = unit;
	}
	gap(before + 1, count);
	const body = parts.join("");
	const top = writeNotice(notice, marks, { units, keptLines, keptChars });
	if (top !== "") notices.unshift(top);
	return { text: top === "" ? body : `${top}\n${body}`, kept: ranges, notices };
}

function writeNotice(
	kind: NoticeKind,
	marks: Marks,
	{ units, keptLines, keptChars }: { units: Units; keptLines: number; keptChars: number },
): string {
	if (kind === "none") return "";
	return fillTemplate(kind === "short" ? shortNotice(marks) : fullNotice(marks), {
		omitted_lines: units.lines - keptLines,
		total_lines: units.lines,
		omitted_chars: units.chars - keptChars,
		total_chars: units.chars,
	});
}

function fullNotice({ wording, ref }: Marks): string {
	return ref === undefined ? wording.notice : fillTemplate(wording.archived, { ref });
}

/** The notice for little room, with the reference filled in. Variable: {omitted_chars}. */
export function shortNotice({ wording, ref }: Marks): string {
	return ref === undefined ? wording.short : fillTemplate(wording.shortArchived, { ref });
}

/** The most characters of a notice and a mark, line feed included. */
export function longestMarks({ units, marks }: Pick<AssembleParameters, "units" | "marks">) {
	const { wording } = marks;
	const { chars, lines } = units;
	const most = { omitted_chars: chars, total_chars: chars, omitted_lines: lines, total_lines: lines };
	const lengthOf = (template: string) => fillTemplate(template, { ...most, from: lines, to: lines }).length + 1;
	const largest = (one: number, other: number) => Math.max(one, other);
	const ofEncoded = [...units.encoded.values()].map((data) => encodedMark(data, wording).length + 1);
	return {
		full: lengthOf(fullNotice(marks)),
		short: lengthOf(shortNotice(marks)),
		gap: ofEncoded.reduce(largest, Math.max(lengthOf(wording.gap), lengthOf(wording.folded))),
		inside: ofEncoded.reduce(largest, lengthOf(wording.inside)),
	};
}

/** The start of each line, and then the end of the text. */
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

function lineAt(starts: Uint32Array, at: number): number {
	return firstReaching(1, starts.length - 1, (line) => (starts[line] as number) > at) - 1;
}

/** Converts ranges of a stripped text to ranges of the original. In a line that lost some, they end at its edges. */
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
		// A complete line ends before its line feed.
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

/** The text between kept ranges, except single line ends, and its lines. */
export function omittedRanges(text: string, kept: readonly CharRange[], starts: Uint32Array) {
	const omitted: CharRange[] = [];
	const omittedLines: { from: number; to: number }[] = [];
	let omittedCount = 0;
	let at = 0;
	for (const { start, end } of [...kept, { start: text.length, end: text.length }]) {
		if (start > at && !isLineEnd(text, at, start)) {
			omitted.push({ start: at, end: start });
			// The line feed belongs to the kept line before.
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
