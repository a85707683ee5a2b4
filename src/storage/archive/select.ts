import { setImmediate } from "node:timers/promises";
import type { CountTokens } from "../../engine/conversation/measure.ts";
import { onCharacter } from "../../formats/json-text/text-bytes.ts";
import {
	type GrepPart,
	type PartRequest,
	parsePart,
	type Range,
	rangeText,
	requireWithin,
	type SelectedPart,
} from "./part.ts";

/** In ms. A longer search returns the matches that it has found. */
const searchTimeMs = 10_000;

/**
 * The text is read to its end, to tell how much is omitted, but never held whole. `elapsed` is monotonic, in ms. Throws
 * PalimpsestError `invalid_argument`, while selecting too, for a range that begins after the end of the text.
 */
export function selectPart(
	request: PartRequest,
	options: { readonly countTokens: CountTokens; readonly elapsed?: (() => number) | undefined },
): (pieces: AsyncIterable<string>) => Promise<SelectedPart> {
	const { countTokens, elapsed = () => performance.now() } = options;
	const { part, maxTokens } = parsePart(request);
	return async (pieces) => {
		const until = elapsed() + searchTimeMs;
		const limits: Limits = { maxTokens, countTokens, isOver: () => elapsed() > until };
		const taker =
			part.kind === "tail"
				? takeTail(part.count, limits)
				: part.kind === "grep"
					? takeMatches(part, limits)
					: takeRange(part, limits);
		const total = await scanLines(pieces, taker.visit);
		requireWithin(part, total);
		const selection = taker.finish(total);
		return { ...selection, tokens: countTokens(selection.text), total };
	};
}

interface Taker {
	readonly visit: (segment: Segment) => void;
	readonly finish: (total: SelectedPart["total"]) => Omit<SelectedPart, "tokens" | "total">;
}

interface Limits {
	readonly maxTokens: number;
	readonly countTokens: CountTokens;
	readonly isOver: () => boolean;
}

/** A line of a text, or a piece of a very long one. Lines end with `\n`; a `\r` before it is part of the line. */
interface Segment {
	readonly line: number;
	/** UTF-16 code units of the text, with the line's end. */
	readonly start: number;
	readonly end: number;
	/** Without the line's end. */
	readonly text: string;
	readonly endsLine: boolean;
	readonly continues: boolean;
}

/** Short enough that work on one segment does not block other work. */
const longestSegment = 1 << 16;

/** Calls `visit` for each segment, and lets other work run in between. */
async function scanLines(pieces: AsyncIterable<string>, visit: Taker["visit"]): Promise<SelectedPart["total"]> {
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
				const cut = onCharacter(text, at + longestSegment);
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

function clip(segment: Segment, range: Range): Segment | undefined {
	if (range.kind === "lines") {
		return segment.line >= range.first && segment.line <= range.last ? segment : undefined;
	}
	if (segment.end <= range.start || segment.start >= range.end) return undefined;
	const whole = wholeOf(segment);
	const from = onCharacter(whole, Math.max(0, range.start - segment.start));
	const to = onCharacter(whole, Math.min(whole.length, range.end - segment.start), 1);
	return {
		...segment,
		start: segment.start + from,
		end: segment.start + to,
		text: segment.text.slice(from, to),
		endsLine: segment.endsLine && to === whole.length && from < to,
		continues: segment.continues || from > 0,
	};
}

function wholeOf(segment: Segment): string {
	return segment.endsLine ? `${segment.text}\n` : segment.text;
}

/** Whole lines, or the beginning of the first if that alone is too long; of characters, as many as fit. */
function takeRange(part: Range, { maxTokens, countTokens }: Limits): Taker {
	let first: Segment | undefined;
	let [asked, askedEnd] = ["", 0];
	return {
		visit(given) {
			const segment = clip(given, part);
			if (segment === undefined) return;
			first ??= segment;
			askedEnd = segment.end;
			// More characters than the budget has tokens for can never be shown.
			if (asked.length <= maxTokens * longestToken) asked += wholeOf(segment);
		},
		finish() {
			const { start, line } = first ?? { start: 0, line: 0 };
			const fitting = (text: string) => createTokenBudget({ maxTokens, countTokens, grows: "forwards" }).takeSome(text);
			const some = fitting(asked);
			const lineEnd = some.lastIndexOf("\n") + 1;
			const isCutLine = part.kind === "lines" && lineEnd > 0 && start + some.length < askedEnd;
			const text = isCutLine ? fitting(some.slice(0, lineEnd)) : some;
			const end = start + text.length;
			const next = line + linesIn(text);
			const rest =
				part.kind === "lines" && text.endsWith("\n")
					? { lines: rangeText(next, part.last) }
					: { chars: `${end}-${askedEnd}` };
			const shown = text === "" ? null : { lines: { first: line, last: next - 1 }, chars: { start, end } };
			const leftOutChars = askedEnd === 0 ? 0 : askedEnd - end;
			return { text, shown, matches: null, leftOutChars, next: leftOutChars === 0 ? null : rest };
		},
	};
}

function linesIn(text: string): number {
	return text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
}

/** Takes whole lines from the end, or the end of the last if that alone is too long. */
function takeTail(count: number, { maxTokens, countTokens }: Limits): Taker {
	const mostChars = maxTokens * longestToken;
	const lineStarts: number[] = [];
	let held = "";
	return {
		visit(segment) {
			if (!segment.continues) lineStarts.push(segment.start);
			if (lineStarts.length > 2 * count + 1000) lineStarts.splice(0, lineStarts.length - count);
			held += wholeOf(segment);
			if (held.length > 2 * mostChars) held = held.slice(onCharacter(held, held.length - mostChars));
		},
		finish(total) {
			const askedStart = lineStarts[Math.max(0, lineStarts.length - count)] ?? 0;
			const asked = held.slice(Math.max(0, held.length - (total.chars - askedStart)));
			const some = createTokenBudget({ maxTokens, countTokens, grows: "backwards" }).takeSome(asked);
			const beginsLine = (start: number) => start === askedStart || held.at(start - total.chars - 1) === "\n";
			const lineStart = beginsLine(total.chars - some.length) ? 0 : some.indexOf("\n") + 1;
			const text = lineStart < some.length ? some.slice(lineStart) : some;
			const start = total.chars - text.length;
			const first = total.lines - linesIn(text) + 1;
			const before = beginsLine(start)
				? { lines: rangeText(Math.max(1, total.lines - count + 1), first - 1) }
				: { chars: `${askedStart}-${start}` };
			const leftOutChars = start - askedStart;
			const place = { lines: { first, last: total.lines }, chars: { start, end: total.chars } };
			const next = leftOutChars === 0 ? null : before;
			return { text, shown: text === "" ? null : place, matches: null, leftOutChars, next };
		},
	};
}

/** A longer line is shown only around its match. */
const longestShown = 400;
const aroundMatch = 160;

/** As grep shows them. A match across the segments of a very long line is not found. */
function takeMatches(part: GrepPart, { maxTokens, countTokens, isOver }: Limits): Taker {
	const { within } = part;
	const budget = createTokenBudget({ maxTokens, countTokens, grows: "forwards" });
	const shownLines: string[] = [];
	const before: Segment[] = [];
	let shown: { first: Segment; last: Segment } | undefined;
	let [found, shownMatches, after, searched] = [0, 0, 0, 0];
	/** The first match that is omitted, or the place where the search ended. */
	let leftFrom: Segment | undefined;
	/** A match that alone is over the budget. */
	let cut: Segment | undefined;
	let isFull = false;
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
		const match = writeMatch(segment, part);
		if (context.every((one) => show(one, writeAround(one))) && show(segment, match)) {
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
			const whole = clip(given, within);
			if (whole === undefined) return;
			end = whole.end;
			// `$` also matches before the `\r` of a line that ends with `\r\n`.
			const segment = whole.text.endsWith("\r") ? { ...whole, text: whole.text.slice(0, -1) } : whole;
			searched += 1;
			if (searched % 64 === 0 && isOver()) isFull = true;
			if (isFull && isOver()) {
				leftFrom ??= segment;
			} else if (part.pattern.test(segment.text)) {
				found += 1;
				if (!isFull) showMatch(segment);
				else leftFrom ??= segment;
			} else if (!isFull && after > 0) {
				after -= 1;
				// A context line may be missing: `leftFrom` is always a match.
				show(segment, writeAround(segment));
			} else if (!isFull) {
				before.push(segment);
				if (before.length > part.context) before.shift();
			}
		},
		finish() {
			const place = shown && {
				lines: { first: shown.first.line, last: shown.last.line },
				chars: { start: shown.first.start, end: shown.last.start + shown.last.text.length },
			};
			const text = budget.fitWhole(shownLines.join(""));
			const matches = { found, shown: shownMatches };
			return { text, shown: place ?? null, matches, leftOutChars: 0, next: next() };
		},
	};
}

function writeAround(segment: Segment): string {
	if (!isLong(segment)) return `${segment.line}-${segment.text}`;
	return `${segment.line}-${excerpt(segment, 0, aroundMatch)}`;
}

/** Writes a long line as the text around its first match, with its place. */
function writeMatch(segment: Segment, part: GrepPart): string {
	if (!isLong(segment)) return `${segment.line}:${segment.text}`;
	const matcher = part.pattern.matcher(segment.text);
	const [start, end] = matcher.find() ? [matcher.start(), matcher.end()] : [0, 0];
	const to = Math.min(end, start + longestShown) + aroundMatch;
	return `${segment.line}:${excerpt(segment, start - aroundMatch, to)}`;
}

function isLong({ text, continues }: Segment): boolean {
	return text.length > longestShown || continues;
}

function excerpt(segment: Segment, from: number, to: number): string {
	const start = Math.max(0, from);
	const end = Math.min(segment.text.length, to);
	const text = segment.text.slice(start, end).toWellFormed();
	return `[chars ${segment.start + start}-${segment.start + end}] ${text}`;
}

/** More characters than any token has: the longest of o200k_base are 128 spaces. */
const longestToken = 128;

/** A token may span the place where two texts meet. Text this many characters away barely changes it. */
const neighbourhood = 1000;

/** A budget for joined texts, each counted with its neighbourhood only; `fitWhole` counts the result once more. */
function createTokenBudget(options: {
	readonly maxTokens: number;
	readonly countTokens: CountTokens;
	readonly grows: "forwards" | "backwards";
}) {
	const { maxTokens, countTokens, grows } = options;
	let left = maxTokens;
	let neighbour = "";
	const joined = (text: string) => (grows === "forwards" ? neighbour + text : text + neighbour);
	const cost = (text: string) => countTokens(joined(text)) - countTokens(neighbour);
	const partOf = (text: string, length: number): string => {
		if (grows === "forwards") return text.slice(0, onCharacter(text, length));
		return text.slice(onCharacter(text, text.length - length, 1));
	};

	const take = (text: string): boolean => {
		// Counting is slow, so text that cannot fit is not counted.
		if (text.length > left * longestToken) return false;
		const tokens = cost(text);
		if (tokens > left) return false;
		left -= tokens;
		neighbour = grows === "forwards" ? joined(text).slice(-neighbourhood) : joined(text).slice(0, neighbourhood);
		return true;
	};

	const takeSome = (text: string): string => {
		let best = "";
		let fits = 0;
		let tooLong = Math.min(text.length, left * longestToken) + 1;
		let next = Math.min(left * 4, tooLong - 1);
		// Grows, then halves the step: a text much longer than the budget is never counted whole.
		while (tooLong - fits > 1) {
			const part = partOf(text, next);
			if (cost(part) <= left) {
				best = part;
				fits = next;
			} else {
				tooLong = next;
			}
			next = Math.max(fits + 1, Math.min(fits * 2, Math.floor((fits + tooLong) / 2)));
		}
		return best !== "" && take(best) ? best : "";
	};

	const fitWhole = (text: string) =>
		countTokens(text) <= maxTokens ? text : createTokenBudget(options).takeSome(text);
	return { take, takeSome, fitWhole };
}
