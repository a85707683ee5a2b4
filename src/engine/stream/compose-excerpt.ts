import { fillTemplate } from "../fill-template.ts";
import type { FailureLine, FailureLines, NumberedLine } from "./failure-lines.ts";
import type { Ends } from "./head-and-tail.ts";

/** The notices of an excerpt; see `ExcerptWordings`. Variables that are known beforehand are filled. */
export interface ExcerptNotices {
	/** The whole first line. Variables: {shown_lines}, {total_lines}, {total_chars}. */
	readonly top: string;
	readonly lines: string;
	readonly chars: string;
	readonly failures: string;
	readonly moreFailures: string;
	readonly tail: string;
}

/** What is known of a text of which not everything can be shown. */
export interface ExcerptSource {
	readonly ends: Ends;
	readonly failures: FailureLines;
}

/** A part of a text, with notices of what is left out. */
export interface Excerpt {
	readonly text: string;
	/** Characters of the original that the text does not hold. */
	readonly omittedChars: number;
}

const shares = { head: 0.3, failures: 0.3, longestFailure: 300 };

/**
 * The largest excerpt that `fits`: the head, the lines between that tell of failures, with their numbers, and the tail,
 * under one line that says what is left out. Head and tail end on whole lines where there are lines. Where there is no
 * room for notices, the bare beginning.
 */
export function composeExcerpt(
	source: ExcerptSource,
	notices: ExcerptNotices,
	fits: (text: string) => boolean,
): Excerpt {
	const { head, tail, chars } = source.ends;
	// A text that is no shorter is no excerpt.
	const isShorter = (text: string) => text.length < chars;
	const composed = (budget: number) => compose(source, notices, budget);
	const takes = (excerpt: Excerpt) => isShorter(excerpt.text) && fits(excerpt.text);
	let best = composed(0);
	if (!takes(best)) return bareHead(source.ends, fits);
	let [low, high] = [0, head.length + tail.length];
	while (high - low > Math.max(8, low >> 7)) {
		const middle = (low + high) >>> 1;
		const excerpt = composed(middle);
		if (takes(excerpt)) [low, best] = [middle, excerpt];
		else high = middle;
	}
	// Notices alone tell less than a few words.
	return best.omittedChars < chars ? best : bareHead(source.ends, fits);
}

function compose(source: ExcerptSource, notices: ExcerptNotices, budget: number): Excerpt {
	const { ends } = source;
	const totalLines = ends.lineBreaks + (ends.endsLine ? 0 : 1);
	let head = wholeLinesOf(ends.head, Math.floor(budget * shares.head));
	const failureRoom = Math.floor(budget * shares.failures);
	let tail = lastLinesOf(ends.tail, Math.min(budget - head.length - failureRoom, ends.chars - head.length));
	const between = (first: number, last: number) =>
		source.failures.lines.filter(({ number }) => number >= first && number <= last);
	const firstLeftOut = () => lineBreaksIn(head) + 1;
	const lastLeftOut = () => totalLines - linesIn(tail, ends.endsLine);
	let candidates = between(firstLeftOut(), lastLeftOut());
	if (candidates.length === 0) {
		// Nothing failed in between: the room is for the ends.
		head = wholeLinesOf(ends.head, Math.floor(budget * (shares.head + shares.failures / 2)));
		tail = lastLinesOf(ends.tail, Math.min(budget - head.length, ends.chars - head.length));
		candidates = between(firstLeftOut(), lastLeftOut());
	}
	const [first, last] = [firstLeftOut(), lastLeftOut()];
	const chosen = choose(candidates, failureRoom, last);
	const gap = gapOf(notices, { head, tail, ends, first, last, chosen, missing: missing(source, candidates, chosen) });
	const shownLines = totalLines - Math.max(0, last - first + 1) + chosen.lines;
	const values = { shown_lines: Math.max(0, shownLines), total_lines: totalLines, total_chars: ends.chars };
	const top = fillTemplate(notices.top, values);
	const text = `${top}\n${head}${head === "" || head.endsWith("\n") ? "" : "\n"}${gap}${tail}`;
	return { text, omittedChars: ends.chars - head.length - tail.length - chosen.chars };
}

interface Chosen {
	readonly text: string;
	/** Failures shown. */
	readonly count: number;
	/** Lines shown, those behind the failures among them. */
	readonly lines: number;
	readonly chars: number;
}

/** Failures from the beginning and from the end in turns, as many as fit; then what follows them, while that fits. */
function choose(candidates: readonly FailureLine[], room: number, last: number): Chosen {
	const lines: NumberedLine[] = [];
	let left = room;
	const take = ({ number, text }: NumberedLine): boolean => {
		const line = onCharacter(text, Math.min(text.length, shares.longestFailure));
		// The number, a colon, a space and a line break.
		const cost = line.length + 8;
		if (cost > left) return false;
		left -= cost;
		return lines.push({ number, text: line }) > 0;
	};
	const fromBothEnds = candidates.map((_, index) =>
		index % 2 === 0 ? index / 2 : candidates.length - 1 - (index - 1) / 2,
	);
	const count = fromBothEnds.findIndex((index) => !take(candidates[index] as FailureLine));
	const isComplete = count === -1;
	if (isComplete) {
		for (const { after } of candidates) for (const line of after) if (line.number <= last && !take(line)) break;
	}
	lines.sort((a, b) => a.number - b.number);
	return {
		text: lines.map(({ number, text }) => `${number}: ${text}\n`).join(""),
		count: isComplete ? candidates.length : count,
		lines: lines.length,
		chars: lines.reduce((sum, { text }) => sum + text.length, 0),
	};
}

/** How many failures are in none of the parts. */
function missing({ failures }: ExcerptSource, candidates: readonly FailureLine[], chosen: Chosen): number {
	return candidates.length - chosen.count + failures.dropped;
}

function gapOf(
	notices: ExcerptNotices,
	gap: {
		readonly head: string;
		readonly tail: string;
		readonly ends: Ends;
		readonly first: number;
		readonly last: number;
		readonly chosen: Chosen;
		readonly missing: number;
	},
): string {
	const { head, tail, ends, first, last, chosen } = gap;
	const [start, end] = [head.length, ends.chars - tail.length];
	if (start >= end) return "";
	if (chosen.count === 0) {
		// An end that is not a whole line is told in characters.
		const isWithinLines = (head !== "" && !head.endsWith("\n")) || !beginsLine(ends.tail, tail) || last < first;
		return `${isWithinLines ? fillTemplate(notices.chars, { start, end }) : fillTemplate(notices.lines, { first, last })}\n`;
	}
	const more = gap.missing > 0 ? `${fillTemplate(notices.moreFailures, { count: gap.missing })}\n` : "";
	const rest = tail === "" ? "" : `${fillTemplate(notices.tail, { first: last + 1 })}\n`;
	return `${fillTemplate(notices.failures, { first, last })}\n${chosen.text}${more}${rest}`;
}

/** The beginning alone, as much of it as fits. */
function bareHead({ head, chars }: Ends, fits: (text: string) => boolean): Excerpt {
	let [low, high] = [0, head.length + 1];
	while (high - low > 1) {
		const middle = (low + high) >>> 1;
		if (fits(onCharacter(head, middle))) low = middle;
		else high = middle;
	}
	const text = onCharacter(head, low);
	return { text, omittedChars: chars - text.length };
}

/** At most so many characters from the beginning, up to the end of a line where one ends in their second half. */
function wholeLinesOf(text: string, most: number): string {
	const cut = onCharacter(text, Math.min(most, text.length));
	const end = cut.lastIndexOf("\n") + 1;
	return end > cut.length / 2 ? cut.slice(0, end) : cut;
}

/** At most so many characters from the end, from the beginning of a line where one begins in their first half. */
function lastLinesOf(text: string, most: number): string {
	let start = Math.max(0, text.length - Math.max(0, most));
	if (isLow(text.charCodeAt(start)) && isHigh(text.charCodeAt(start - 1))) start += 1;
	const cut = text.slice(start);
	if (text[start - 1] === "\n") return cut;
	const line = cut.indexOf("\n") + 1;
	return line > 0 && line < cut.length / 2 ? cut.slice(line) : cut;
}

function beginsLine(window: string, tail: string): boolean {
	return tail === "" || window[window.length - tail.length - 1] === "\n";
}

function onCharacter(text: string, end: number): string {
	return text.slice(0, isLow(text.charCodeAt(end)) && isHigh(text.charCodeAt(end - 1)) ? end - 1 : end);
}

function lineBreaksIn(text: string): number {
	let count = 0;
	for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) count += 1;
	return count;
}

/** The lines that a tail shows, a part of one among them. */
function linesIn(tail: string, endsLine: boolean): number {
	return tail === "" ? 0 : lineBreaksIn(tail) + (endsLine ? 0 : 1);
}

const isHigh = (unit: number) => unit >= 0xd800 && unit <= 0xdbff;
const isLow = (unit: number) => unit >= 0xdc00 && unit <= 0xdfff;
