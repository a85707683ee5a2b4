import type { CharRange } from "./draft.ts";
import type { LineSpan } from "./truncation-types.ts";

/** Where the lines of a text start, in characters; the end of the text stands behind the last. */
export function lineStarts(text: string): Uint32Array {
	let lines = 1;
	for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) lines += 1;
	const starts = new Uint32Array(lines + 1);
	let line = 1;
	for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) {
		starts[line] = at + 1;
		line += 1;
	}
	starts[lines] = text.length;
	return starts;
}

/** The line, from 0, that a character stands in. */
export function lineAt(starts: Uint32Array, at: number): number {
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
