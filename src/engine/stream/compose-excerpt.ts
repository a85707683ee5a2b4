import { fillTemplate } from "../../masking/template.ts";
import { orderFailures } from "../truncate/failures-first.ts";
import type { FailureLine, FailureLines, NumberedLine } from "./failure-lines.ts";
import type { Ends } from "./head-and-tail.ts";

/** The notices of an excerpt; see `ExcerptWordings`. Variables that are known beforehand are filled. */
export interface ExcerptNotices {
	/** The whole first line. Variables: {shown_lines}, {total_lines}, {total_chars}. */
	readonly top: string;
	/** In its place where there is little room. Variable: {omitted_chars}. */
	readonly short: string;
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
	/** Whether what put the text out is known to have failed: then failures get most of the room. */
	readonly hasFailed?: boolean | undefined;
}

/** A part of a text, with notices of what is left out. */
export interface Excerpt {
	readonly text: string;
	/** Characters of the original that the text does not hold. */
	readonly omittedChars: number;
}

/** Shares of the room; the rest is for the tail. */
const shares = { head: 0.3, failures: 0.3 };
const sharesOfFailed = { head: 0.15, failures: 0.6 };
/** Characters of a failure that is shown in part. */
const partOfFailure = 300;
/** Most lines shown that tell of a failure by a word alone, where others do by their form. */
const mostLikely = 12;
/** Characters around a failure: the number of its line, a colon, a space and a line break. */
const aroundFailure = 8;

/**
 * The largest excerpt that `fits`: the head, the lines between that tell of failures, with their numbers, and the tail,
 * under one line that says what is left out. Head and tail end on whole lines where there are lines. If the
 * notices do not fit, the beginning stands under a short one; if that does not fit either, the beginning stands alone.
 */
export function composeExcerpt(
	source: ExcerptSource,
	notices: ExcerptNotices,
	fits: (text: string) => boolean,
): Excerpt {
	const { head, tail, chars } = source.ends;
	// A text that is no shorter is no excerpt.
	const isShorter = (text: string) => text.length < chars;
	const ordered = orderOf(source.failures.lines);
	const composed = (budget: number) => compose({ ...source, ordered }, notices, budget);
	const takes = (excerpt: Excerpt) => isShorter(excerpt.text) && fits(excerpt.text);
	let best = composed(0);
	if (!takes(best)) return beginning(source.ends, notices.short, takes);
	let [low, high] = [0, head.length + tail.length];
	while (high - low > Math.max(8, low >> 7)) {
		const middle = (low + high) >>> 1;
		const excerpt = composed(middle);
		if (takes(excerpt)) [low, best] = [middle, excerpt];
		else high = middle;
	}
	// Notices alone tell less than a few words.
	return best.omittedChars < chars ? best : beginning(source.ends, notices.short, takes);
}

/** Failures in the order in which they are wanted: first those that are told by their form. */
function orderOf(lines: readonly FailureLine[]): FailureLine[] {
	const textOf = ({ text, match }: FailureLine) => text.slice(match);
	const sure = orderFailures(
		lines.filter(({ isSure }) => isSure),
		{ textOf },
	);
	const likely = orderFailures(
		lines.filter(({ isSure }) => !isSure),
		{ textOf },
	);
	return [...sure, ...(sure.length > 0 ? likely.slice(0, mostLikely) : likely)];
}

interface OrderedSource extends ExcerptSource {
	readonly ordered: readonly FailureLine[];
}

function compose(source: OrderedSource, notices: ExcerptNotices, budget: number): Excerpt {
	const { ends, hasFailed = false, ordered } = source;
	const ofHead = hasFailed ? sharesOfFailed : shares;
	const totalLines = ends.lineBreaks + (ends.endsLine ? 0 : 1);
	let head = "";
	let tail = "";
	const firstLeftOut = () => lineBreaksIn(head) + 1;
	const lastLeftOut = () => totalLines - linesIn(tail, ends.endsLine);
	const leftOut = (lines: readonly FailureLine[]) => {
		const [from, to] = [head.length, ends.chars - tail.length];
		return lines.filter(({ start, match, text }) => {
			const told = Math.min(text.length - match, partOfFailure);
			return start + match < to && start + match + told > from;
		});
	};
	const share = (failureRoom: number) => {
		const room = budget - failureRoom;
		const forHead = Math.floor((room * ofHead.head) / (1 - ofHead.failures));
		head = wholeLinesOf(ends.head, forHead);
		tail = lastLinesOf(ends.tail, Math.min(room - head.length, ends.chars - head.length));
	};
	let failureRoom = Math.floor(budget * ofHead.failures);
	share(failureRoom);
	const [wanted] = leftOut(ordered);
	if (wanted === undefined) {
		// Nothing failed in between: the room is for the ends.
		head = wholeLinesOf(ends.head, Math.floor(budget * (shares.head + shares.failures / 2)));
		tail = lastLinesOf(ends.tail, Math.min(budget - head.length, ends.chars - head.length));
	} else {
		// The failure that is wanted most comes before head and tail: as a whole, or else in part.
		const whole = wanted.text.length + aroundFailure;
		const part = Math.min(whole, partOfFailure + aroundFailure);
		const needed = whole <= budget ? whole : Math.min(part, budget);
		if (needed > failureRoom) {
			failureRoom = needed;
			share(failureRoom);
		}
	}
	const first = firstLeftOut();
	const last = lastLeftOut();
	const candidates = leftOut(source.failures.lines);
	const chosen = choose(leftOut(ordered), failureRoom, last);
	const gap = gapOf(notices, { head, tail, ends, first, last, chosen, missing: missing(source, candidates, chosen) });
	const shownLines = Math.min(totalLines, totalLines - Math.max(0, last - first + 1) + chosen.lines);
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

/** Failures in the order given, as many as fit; then what follows them, while that fits. */
function choose(wanted: readonly FailureLine[], room: number, last: number): Chosen {
	const lines: NumberedLine[] = [];
	let left = room;
	const take = ({ number, text }: NumberedLine): boolean => {
		const cost = text.length + aroundFailure;
		if (cost > left) return false;
		left -= cost;
		return lines.push({ number, text }) > 0;
	};
	const shown = wanted.filter((failure, index) => {
		if (take(failure)) return true;
		const { number, text, match } = failure;
		const most = Math.min(partOfFailure, left - aroundFailure);
		return most > 0 && (index === 0 || most === partOfFailure) && take({ number, text: partOf(text, match, most) });
	});
	const numbers = new Set(lines.map(({ number }) => number));
	for (const { after } of shown) {
		for (const line of after) {
			if (line.number > last || numbers.has(line.number) || !take(line)) break;
			numbers.add(line.number);
		}
	}
	lines.sort((a, b) => a.number - b.number);
	return {
		text: lines.map(({ number, text }) => `${number}: ${text}\n`).join(""),
		count: shown.length,
		lines: lines.length,
		chars: lines.reduce((sum, { text }) => sum + text.length, 0),
	};
}

/** At most so many characters of a text from a place on. */
function partOf(text: string, at: number, most: number): string {
	const start = isLow(text.charCodeAt(at)) && isHigh(text.charCodeAt(at - 1)) ? at + 1 : at;
	return onCharacter(text.slice(start), Math.min(most, text.length - start));
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
	const rest = tail === "" ? "" : `${fillTemplate(notices.tail, { first: Math.max(first, last + 1) })}\n`;
	return `${fillTemplate(notices.failures, { first, last: Math.max(first, last) })}\n${chosen.text}${more}${rest}`;
}

/** The beginning under a short notice, or alone where that does not fit; as much of it as fits. */
function beginning({ head, chars }: Ends, short: string, takes: (excerpt: Excerpt) => boolean): Excerpt {
	const marked = (end: number): Excerpt => {
		const kept = onCharacter(head, end);
		const omittedChars = chars - kept.length;
		const notice = fillTemplate(short, { omitted_chars: omittedChars });
		return { text: kept === "" ? notice : `${notice}\n${kept}`, omittedChars };
	};
	const bare = (end: number): Excerpt => {
		const text = onCharacter(head, end);
		return { text, omittedChars: chars - text.length };
	};
	const made = takes(marked(0)) ? marked : bare;
	let [low, high] = [0, head.length + 1];
	while (high - low > 1) {
		const middle = (low + high) >>> 1;
		if (takes(made(middle))) low = middle;
		else high = middle;
	}
	return made(low);
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
