import { firstReaching } from "../conversation/lists.js";
import { fillTemplate } from "../masking/template.js";
import { encodedMark } from "./encoded.js";
import { countOf } from "./head-tail.js";
export function addRange(ranges, start, end) {
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
export function fitBudget(text, shorten, budget) {
	const { chars, some } = typeof text === "string" ? { chars: text.length, some: text } : text;
	const shorter = chars - 1;
	if (budget.unit === "chars") return shorten(Math.min(budget.max, shorter));
	const { max, countTokens } = budget;
	const sample = some.length <= sampled ? some : some.slice(0, sampled / 2) + some.slice(-sampled / 2);
	const perToken = sample.length / Math.max(1, countTokens(sample));
	let [low, high] = [0, shorter + 1];
	let best;
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
/** Joins kept units, with a notice at the top and a mark at each gap. */
export function assembleUnits({ units, kept, marks, notice, isLike, markOf }) {
	const { line, start, end, count } = units;
	const ranges = [];
	const notices = [];
	const parts = [];
	let keptLines = 0;
	let keptChars = 0;
	let before = -1;
	const mark = (one) => {
		notices.push(one);
		parts.push(one);
	};
	const insideMark = (from, to) => {
		const data = from === to ? units.encoded.get(from) : undefined;
		const omitted_chars = end[to] - start[from];
		mark(data ? encodedMark(data, marks.wording) : fillTemplate(marks.wording.inside, { omitted_chars }));
	};
	const gap = (from, to) => {
		const [lineBefore, lineBehind] = [line[before], line[to]];
		let first = from;
		while (first < to && line[first] === lineBefore) first += 1;
		if (first > from) insideMark(from, first - 1);
		let last = to;
		while (last > first && line[last - 1] === lineBehind) last -= 1;
		if (last > first) {
			const lines = { from: line[first], to: line[last - 1] };
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
		const [from, to] = [start[unit], end[unit]];
		parts.push(units.slice(from, to));
		const isFirst = line[unit] !== line[unit - 1];
		const joined = before === unit - 1 && before >= 0 && isFirst;
		addRange(ranges, joined ? end[before] : from, to);
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
function writeNotice(kind, marks, { units, keptLines, keptChars }) {
	if (kind === "none") return "";
	return fillTemplate(kind === "short" ? shortNotice(marks) : fullNotice(marks), {
		omitted_lines: units.lines - keptLines,
		total_lines: units.lines,
		omitted_chars: units.chars - keptChars,
		total_chars: units.chars,
	});
}
function fullNotice({ wording, ref }) {
	return ref === undefined ? wording.notice : fillTemplate(wording.archived, { ref });
}
/** The notice for little room, with the reference filled in. Variable: {omitted_chars}. */
export function shortNotice({ wording, ref }) {
	return ref === undefined ? wording.short : fillTemplate(wording.shortArchived, { ref });
}
/** The most characters of a notice and a mark, line feed included. */
export function longestMarks({ units, marks }) {
	const { wording } = marks;
	const { chars, lines } = units;
	const most = { omitted_chars: chars, total_chars: chars, omitted_lines: lines, total_lines: lines };
	const lengthOf = (template) => fillTemplate(template, { ...most, from: lines, to: lines }).length + 1;
	const largest = (one, other) => Math.max(one, other);
	const ofEncoded = [...units.encoded.values()].map((data) => encodedMark(data, wording).length + 1);
	return {
		full: lengthOf(fullNotice(marks)),
		short: lengthOf(shortNotice(marks)),
		gap: ofEncoded.reduce(largest, Math.max(lengthOf(wording.gap), lengthOf(wording.folded))),
		inside: ofEncoded.reduce(largest, lengthOf(wording.inside)),
	};
}
/** The start of each line, and then the end of the text. */
export function lineStarts(text) {
	const starts = new Uint32Array(countOf(text, "\n") + 2);
	let line = 1;
	for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) {
		starts[line] = at + 1;
		line += 1;
	}
	starts[line] = text.length;
	return starts;
}
function lineAt(starts, at) {
	return firstReaching(1, starts.length - 1, (line) => starts[line] > at) - 1;
}
/** Converts ranges of a stripped text to ranges of the original. In a line that lost some, they end at its edges. */
export function rangesBeforeStripping(ranges, before, after) {
	const place = (at, isEnd) => {
		const line = lineAt(after, isEnd ? at - 1 : at);
		const [own, next] = [after[line], after[line + 1]];
		const [start, end] = [before[line], before[line + 1]];
		if (next - own === end - start) return start + at - own;
		if (!isEnd) return start;
		// A complete line ends before its line feed.
		return at === next || line === after.length - 2 ? end : end - 1;
	};
	const moved = [];
	for (const { start, end } of ranges) {
		const [from, to] = [place(start, false), place(end, true)];
		const last = moved.at(-1);
		if (last && from <= last.end) moved[moved.length - 1] = { start: last.start, end: Math.max(last.end, to) };
		else if (to > from) moved.push({ start: from, end: to });
	}
	return moved;
}
/** The text between kept ranges, except single line ends, and its lines. */
export function omittedRanges(text, kept, starts) {
	const omitted = [];
	const omittedLines = [];
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
	return { omitted, omittedLines: omittedLines, omittedCount };
}
function isLineEnd(text, start, end) {
	return end - start <= 2 && /^\r?\n$/.test(text.slice(start, end));
}
