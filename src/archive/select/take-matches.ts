import { clipSegment } from "./clip-segment.ts";
import type { Part, PartRequest, Range } from "./part.ts";
import { type Segment, spanOf } from "./scan-lines.ts";
import { rangeText } from "./selected-part.ts";
import type { Taker } from "./take-range.ts";
import { type BudgetOptions, type CountTokens, createTokenBudget, withinBudget } from "./token-budget.ts";

type GrepPart = Extract<Part, { readonly kind: "grep" }>;

/** A line longer than this is shown only around its match. */
const longestShown = 400;
const aroundMatch = 160;

/**
 * Takes the lines that match, with the lines around them, as grep shows them. A match across the pieces of a line of
 * more than 65 536 characters is not seen. Stops searching when `isOver` says so.
 */
export function takeMatches(
	part: GrepPart,
	options: {
		readonly maxTokens: number;
		readonly countTokens: CountTokens;
		readonly isOver: () => boolean;
	},
): Taker {
	const { maxTokens, countTokens, isOver } = options;
	const { within } = part;
	const budgetOptions: BudgetOptions = { maxTokens, countTokens, grows: "forwards" };
	const budget = createTokenBudget(budgetOptions);
	const shownLines: string[] = [];
	const before: Segment[] = [];
	let shown: { first: Segment; last: Segment } | undefined;
	let [found, shownMatches, after, searched] = [0, 0, 0, 0];
	/** Where the first match stands that was left out, or where searching ended. */
	let leftFrom: Segment | undefined;
	/** A match that is shown in part, since it alone is over the budget. */
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
		// A budget too small for one match is no reason to show nothing of it; going on from it again would never end.
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
		// Within a line that is very long, a number of a line would lead back to its beginning.
		if (within.kind === "chars" || leftFrom.continues) return { grep, context, chars: `${leftFrom.start}-${end}` };
		return { grep, context, lines: rangeText(leftFrom.line, within.last) };
	};

	return {
		visit(given) {
			const whole = segmentWithin(given, within);
			if (whole === undefined) return;
			end = spanOf(whole).end;
			// `$` is meant to match before either end of a line.
			const segment = whole.text.endsWith("\r") ? { ...whole, text: whole.text.slice(0, -1) } : whole;
			searched += 1;
			if (leftFrom === undefined && searched % 64 === 0 && isOver()) {
				isFull = true;
				leftFrom = segment;
			}
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
				// What does not fit here stands after a match that is shown; the next match is what is left out.
				show(segment, writeAround(segment));
				return;
			}
			before.push(segment);
			if (before.length > part.context) before.shift();
		},
		finish() {
			return {
				text: withinBudget(shownLines.join(""), budgetOptions),
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

/** What a range has of a segment. */
function segmentWithin(segment: Segment, within: Range): Segment | undefined {
	if (within.kind === "lines") return segment.line >= within.first && segment.line <= within.last ? segment : undefined;
	const clipped = clipSegment(segment, within);
	if (clipped === undefined) return undefined;
	const { start } = clipped;
	const endsLine = segment.endsLine && clipped.text.endsWith("\n");
	const text = endsLine ? clipped.text.slice(0, -1) : clipped.text;
	return { line: segment.line, start, text, endsLine, continues: segment.continues || start > segment.start };
}

/** A line around a match; of a long one its beginning. */
function writeAround(segment: Segment): string {
	const { line, text } = segment;
	if (text.length <= longestShown && !segment.continues) return `${line}-${text}`;
	return `${line}-${excerpt(segment, 0, aroundMatch)}`;
}

/** A line that matches; of a long one the surroundings of its first match, and where to read on. */
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
