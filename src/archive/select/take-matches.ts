import type { Part } from "./part.ts";
import type { Segment } from "./scan-lines.ts";
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
	const budgetOptions: BudgetOptions = { maxTokens, countTokens, grows: "forwards" };
	const budget = createTokenBudget(budgetOptions);
	const shownLines: string[] = [];
	const before: Segment[] = [];
	let shown: { first: Segment; last: Segment } | undefined;
	let [found, shownMatches, after, searched] = [0, 0, 0, 0];
	/** The line from which on something was left out. */
	let leftFrom: number | undefined;
	let isFull = false;

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
		leftFrom = segment.line;
		if (shown !== undefined) return;
		// A budget too small for one match is no reason to show nothing of it.
		shownLines.push(budget.takeSome(writeMatch(segment, part)));
		shown = { first: segment, last: segment };
	};

	return {
		visit(given) {
			if (given.line < part.first || given.line > part.last) return;
			// `$` is meant to match before either end of a line.
			const segment = given.text.endsWith("\r") ? { ...given, text: given.text.slice(0, -1) } : given;
			searched += 1;
			if (leftFrom === undefined && searched % 64 === 0 && isOver()) {
				isFull = true;
				leftFrom = segment.line;
			}
			if (isFull && isOver()) return;
			if (part.pattern.test(segment.text)) {
				found += 1;
				if (!isFull) showMatch(segment);
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
			const { source: grep, context, last } = part;
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
				next: leftFrom === undefined ? null : { grep, context, lines: rangeText(leftFrom, last) },
			};
		},
	};
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
