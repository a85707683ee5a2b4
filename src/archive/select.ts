import { setImmediate } from "node:timers/promises";
import {
	type GrepPart,
	type PartRequest,
	parsePart,
	type Range,
	rangeText,
	requireWithin,
	type SelectedPart,
} from "./part.ts";
import { endOnCharacter } from "./text-bytes.ts";
import { type CountTokens, createTokenBudget, longestToken } from "./token-budget.ts";

/** How long a search may take, in ms, before it answers with what it has. */
const searchTimeMs = 10_000;

/**
 * Prepares to select a part of a text that comes in pieces. The text is read to its end, so that the answer can tell how
 * much it leaves out, but it is never held whole.
 *
 * @throws PalimpsestError `invalid_argument` for a request that cannot be met; while selecting, for a range that begins
 * after the end of the text.
 */
export function selectPart(
	request: PartRequest,
	options: {
		readonly countTokens: CountTokens;
		/** A clock that does not go back, in ms. */
		readonly elapsed?: (() => number) | undefined;
	},
): (pieces: AsyncIterable<string>) => Promise<SelectedPart> {
	const { countTokens, elapsed = () => performance.now() } = options;
	const { part, maxTokens } = parsePart(request);
	return async (pieces) => {
		const until = elapsed() + searchTimeMs;
		const how: TakerOptions = { maxTokens, countTokens, isOver: () => elapsed() > until };
		const taker =
			part.kind === "tail"
				? takeTail(part.count, how)
				: part.kind === "grep"
					? takeMatches(part, how)
					: takeRange(part, how);
		const total = await scanLines(pieces, taker.visit);
		requireWithin(part, total);
		const selection = taker.finish(total);
		return { ...selection, tokens: countTokens(selection.text), total };
	};
}

/** A way of selecting: it sees every segment, then tells its selection. */
interface Taker {
	readonly visit: (segment: Segment) => void;
	readonly finish: (total: SelectedPart["total"]) => Selection;
}

type Selection = Omit<SelectedPart, "tokens" | "total">;

interface TakerOptions {
	readonly maxTokens: number;
	readonly countTokens: CountTokens;
	/** Whether the time for searching is over. */
	readonly isOver: () => boolean;
}

/** A line of a text, or a piece of a very long one. Lines end with `\n`; a `\r` before it is part of the line. */
interface Segment {
	/** From 1 on. */
	readonly line: number;
	/** Where it stands in the text, in UTF-16 code units, with the line's end. */
	readonly start: number;
	readonly end: number;
	/** Without the line's end. */
	readonly text: string;
	/** Whether the line's end follows, and not more of the line or the end of the text. */
	readonly endsLine: boolean;
	/** Whether its line began in an earlier segment. */
	readonly continues: boolean;
}

/** Longest segment, in UTF-16 code units: the work on one must not hold up everything else. */
const longestSegment = 1 << 16;

function wholeOf(segment: Segment): string {
	return segment.endsLine ? `${segment.text}\n` : segment.text;
}

/** Shows every segment of a text to `visit`, in order, and lets other work run in between. */
async function scanLines(
	pieces: AsyncIterable<string>,
	visit: (segment: Segment) => void,
): Promise<SelectedPart["total"]> {
	let [line, start, unpaused] = [1, 0, 0];
	let [continues, pending] = [false, ""];

	const show = (text: string, endsLine: boolean): void => {
		const end = start + text.length + (endsLine ? 1 : 0);
		visit({ line, start, end, text, endsLine, continues });
		start = end;
		unpaused += text.length;
		continues = !endsLine;
		if (endsLine) line += 1;
	};
	const pause = (): Promise<void> => {
		unpaused = 0;
		return setImmediate();
	};

	for await (const piece of pieces) {
		const text = pending + piece;
		let at = 0;
		for (;;) {
			const found = text.indexOf("\n", at);
			const end = found === -1 ? text.length : found;
			while (end - at > longestSegment) {
				const cut = endOnCharacter(text, at + longestSegment);
				show(text.slice(at, cut), false);
				at = cut;
				await pause();
			}
			if (found === -1) break;
			show(text.slice(at, found), true);
			at = found + 1;
			if (unpaused >= longestSegment) await pause();
		}
		pending = text.slice(at);
	}
	if (pending !== "") show(pending, false);
	return { lines: continues ? line : line - 1, chars: start };
}

/** The part of a segment that is in a range, with the line's end; `undefined` where none is. */
function clipSegment(segment: Segment, part: Range): { readonly text: string; readonly start: number } | undefined {
	const whole = wholeOf(segment);
	if (part.kind === "lines") {
		const isIn = segment.line >= part.first && segment.line <= part.last;
		return isIn ? { text: whole, start: segment.start } : undefined;
	}
	const { start, end } = segment;
	if (end <= part.start || start >= part.end) return undefined;
	const from = onCharacter(whole, Math.max(0, part.start - start), -1);
	const to = onCharacter(whole, Math.min(whole.length, part.end - start), 1);
	return { text: whole.slice(from, to), start: start + from };
}

/** The given index, or the one beside it where the given one stands within a character. */
function onCharacter(text: string, index: number, aside: -1 | 1): number {
	if (index <= 0 || index >= text.length) return index;
	return (text.codePointAt(index - 1) ?? 0) > 0xffff ? index + aside : index;
}

/**
 * Takes a range from its beginning: whole lines, or the beginning of the first line where that alone is too long; of
 * characters, as many as fit.
 */
function takeRange(part: Range, { maxTokens, countTokens }: TakerOptions): Taker {
	const budget = createTokenBudget({ maxTokens, countTokens, grows: "forwards" });
	const texts: string[] = [];
	let asked: { start: number; end: number } | undefined;
	let shown: { readonly first: number; readonly start: number } | undefined;
	/** The first segment that is not shown whole. */
	let stopped: Segment | undefined;

	const show = (segment: Segment, text: string, start: number): void => {
		if (text === "") return;
		texts.push(text);
		shown ??= { first: segment.line, start };
	};

	return {
		visit(segment) {
			const clipped = clipSegment(segment, part);
			if (clipped === undefined) return;
			asked ??= { start: clipped.start, end: clipped.start };
			asked.end = clipped.start + clipped.text.length;
			if (stopped !== undefined) return;
			if (budget.take(clipped.text)) return show(segment, clipped.text, clipped.start);
			stopped = segment;
			if (part.kind === "lines" && shown !== undefined) return;
			show(segment, budget.takeSome(clipped.text), clipped.start);
		},
		finish() {
			const taken = texts.join("");
			const text = budget.settle(taken);
			const isCut = text.length < taken.length;
			const start = shown?.start ?? asked?.start ?? 0;
			const end = start + text.length;
			const leftOutChars = (asked?.end ?? 0) - end;
			const lines = shown && { first: shown.first, last: shown.first + linesIn(text) - 1 };
			const seen = lines === undefined || text === "" ? null : { lines, chars: { start, end } };
			const rest = { text, shown: seen, matches: null, leftOutChars };
			if (asked === undefined || leftOutChars === 0) return { ...rest, next: null };
			const line = isCut || stopped?.continues || stopped?.start !== end ? undefined : stopped.line;
			if (part.kind === "lines" && line !== undefined) return { ...rest, next: { lines: rangeText(line, part.last) } };
			return { ...rest, next: { chars: `${end}-${asked.end}` } };
		},
	};
}

function linesIn(text: string): number {
	const ends = text.split("\n").length - 1;
	return text.endsWith("\n") ? ends : ends + 1;
}

/** Takes the last lines: whole ones from the end, or the end of the last where that alone is too long. */
function takeTail(count: number, { maxTokens, countTokens }: TakerOptions): Taker {
	// Only segments that may be shown are held, but the start of every line that is asked for.
	const held: Segment[] = [];
	const lineStarts: number[] = [];
	let heldChars = 0;
	let letGo = 0;

	return {
		visit(segment) {
			if (!segment.continues) lineStarts.push(segment.start);
			held.push(segment);
			heldChars += segment.end - segment.start;
			// More characters than the budget has tokens for can never be shown.
			for (let oldest = held[letGo]; oldest; oldest = held[letGo]) {
				const left = heldChars - (oldest.end - oldest.start);
				if (left <= maxTokens * longestToken) break;
				heldChars = left;
				letGo += 1;
			}
			if (letGo > 1000 && letGo > held.length / 2) {
				held.splice(0, letGo);
				letGo = 0;
			}
			if (lineStarts.length > 2 * count + 1000) lineStarts.splice(0, lineStarts.length - count);
		},
		finish(total): Selection {
			const firstLine = Math.max(1, total.lines - count + 1);
			const askedStart = lineStarts[Math.max(0, lineStarts.length - count)] ?? 0;
			const asked = held.slice(letGo).filter((segment) => segment.line >= firstLine);
			const budget = createTokenBudget({ maxTokens, countTokens, grows: "backwards" });
			const texts: string[] = [];
			for (const segment of asked.toReversed()) {
				const whole = wholeOf(segment);
				const taken = budget.take(whole) ? whole : texts.length === 0 ? budget.takeSome(whole) : "";
				texts.unshift(taken);
				if (taken.length < whole.length) break;
			}
			const text = budget.settle(texts.join(""));
			const start = total.chars - text.length;
			const leftOutChars = start - askedStart;
			const shownFrom = asked.find((segment) => segment.end > start);
			const first = shownFrom?.line ?? total.lines;
			const isWithinLine = shownFrom === undefined || shownFrom.continues || start > shownFrom.start;
			const before = isWithinLine ? { chars: `${askedStart}-${start}` } : { lines: rangeText(firstLine, first - 1) };
			return {
				text,
				shown: text === "" ? null : { lines: { first, last: total.lines }, chars: { start, end: total.chars } },
				matches: null,
				leftOutChars,
				next: leftOutChars === 0 ? null : before,
			};
		},
	};
}

/** A line longer than this is shown only around its match. */
const longestShown = 400;
const aroundMatch = 160;

/**
 * Takes the lines that match, with the lines around them, as grep shows them. A match across the pieces of a line of
 * more than 65 536 characters is not seen. Stops searching when `isOver` says so.
 */
function takeMatches(part: GrepPart, { maxTokens, countTokens, isOver }: TakerOptions): Taker {
	const { within } = part;
	const budget = createTokenBudget({ maxTokens, countTokens, grows: "forwards" });
	const shownLines: string[] = [];
	const before: Segment[] = [];
	let shown: { first: Segment; last: Segment } | undefined;
	let [found, shownMatches, after, searched] = [0, 0, 0, 0];
	/** The first match that is left out, or the place where the search ended. */
	let leftFrom: Segment | undefined;
	/** A match that is shown in part, because it alone is over the budget. */
	let cut: Segment | undefined;
	let isFull = false;
	/** Where the range ends, in characters. */
	let end = 0;

	const show = (segment: Segment, text: string): boolean => {
		const isApart = shown !== undefined && segment.line > shown.last.line + 1;
		const written = `${isApart ? "--\n" : ""}${text}\n`;
		if (!budget.take(written)) return false;
		shownLines.push(written);
		shown = { first: shown?.first ?? segment, last: segment };
		return true;
	};
	const showMatch = (segment: Segment): void => {
		const context = before.splice(0);
		const fits = context.every((one) => show(one, writeAround(one))) && show(segment, writeMatch(segment, part));
		if (fits) {
			shownMatches += 1;
			after = part.context;
			return;
		}
		isFull = true;
		if (shown !== undefined) {
			leftFrom = segment;
			return;
		}
		// A match that is too long for the budget is shown in part: asking for it again would never end.
		const match = writeMatch(segment, part);
		const some = budget.takeSome(match);
		shownLines.push(some);
		shown = { first: segment, last: segment };
		shownMatches += 1;
		if (some.length < match.length) cut = segment;
	};
	const next = (): PartRequest | null => {
		const { source: grep, context } = part;
		if (leftFrom === undefined) return cut ? { chars: `${cut.start}-${cut.start + cut.text.length}` } : null;
		// Within a very long line, the number of the line would lead back to its beginning.
		if (within.kind === "chars" || leftFrom.continues) return { grep, context, chars: `${leftFrom.start}-${end}` };
		return { grep, context, lines: rangeText(leftFrom.line, within.last) };
	};

	return {
		visit(given) {
			const whole = segmentWithin(given, within);
			if (whole === undefined) return;
			end = whole.end;
			// `$` also matches before the `\r` of a line that ends with `\r\n`.
			const segment = whole.text.endsWith("\r") ? { ...whole, text: whole.text.slice(0, -1) } : whole;
			searched += 1;
			if (searched % 64 === 0 && isOver()) isFull = true;
			if (isFull && isOver()) {
				leftFrom ??= segment;
				return;
			}
			if (part.pattern.test(segment.text)) {
				found += 1;
				if (!isFull) showMatch(segment);
				else leftFrom ??= segment;
				return;
			}
			if (isFull) return;
			if (after > 0) {
				after -= 1;
				// A line that does not fit here only stands around a match; `leftFrom` is the next match itself.
				show(segment, writeAround(segment));
				return;
			}
			before.push(segment);
			if (before.length > part.context) before.shift();
		},
		finish() {
			return {
				text: budget.settle(shownLines.join("")),
				shown:
					shown === undefined
						? null
						: {
								lines: { first: shown.first.line, last: shown.last.line },
								chars: { start: shown.first.start, end: shown.last.start + shown.last.text.length },
							},
				matches: { found, shown: shownMatches },
				leftOutChars: 0,
				next: next(),
			};
		},
	};
}

/** The part of a segment that is in a range, as a segment. */
function segmentWithin(segment: Segment, within: Range): Segment | undefined {
	const clipped = clipSegment(segment, within);
	if (clipped === undefined) return undefined;
	const { start } = clipped;
	const end = start + clipped.text.length;
	const endsLine = segment.endsLine && clipped.text.endsWith("\n");
	const text = endsLine ? clipped.text.slice(0, -1) : clipped.text;
	return { line: segment.line, start, end, text, endsLine, continues: segment.continues || start > segment.start };
}

/** A line around a match; the beginning of a long one. */
function writeAround(segment: Segment): string {
	const { line, text } = segment;
	if (text.length <= longestShown && !segment.continues) return `${line}-${text}`;
	return `${line}-${excerpt(segment, 0, aroundMatch)}`;
}

/** A line that matches; of a long one the text around its first match, and where that stands. */
function writeMatch(segment: Segment, part: GrepPart): string {
	const { line, text } = segment;
	if (text.length <= longestShown && !segment.continues) return `${line}:${text}`;
	const matcher = part.pattern.matcher(text);
	const [start, end] = matcher.find() ? [matcher.start(), matcher.end()] : [0, 0];
	return `${line}:${excerpt(segment, start - aroundMatch, Math.min(end, start + longestShown) + aroundMatch)}`;
}

function excerpt(segment: Segment, from: number, to: number): string {
	const start = Math.max(0, from);
	const end = Math.min(segment.text.length, to);
	const text = segment.text.slice(start, end).toWellFormed();
	return `[chars ${segment.start + start}-${segment.start + end}] ${text}`;
}
