import { clipSegment } from "./clip-segment.ts";
import type { Range } from "./part.ts";
import type { Segment, TextSize } from "./scan-lines.ts";
import { rangeText, type Selection } from "./selected-part.ts";
import { type BudgetOptions, type CountTokens, createTokenBudget, withinBudget } from "./token-budget.ts";

/** A way of selecting: sees every segment, then tells what it selected. */
export interface Taker {
	readonly visit: (segment: Segment) => void;
	readonly finish: (total: TextSize) => Selection;
}

/**
 * Takes a range from its beginning. Of lines it takes whole ones, or the beginning of the first where that alone is too
 * long; of characters, as many as fit.
 */
export function takeRange(part: Range, maxTokens: number, countTokens: CountTokens): Taker {
	const options: BudgetOptions = { maxTokens, countTokens, grows: "forwards" };
	const budget = createTokenBudget(options);
	const texts: string[] = [];
	let asked: { start: number; end: number } | undefined;
	let shown: { readonly first: number; readonly start: number } | undefined;
	/** The first segment of which something was left out. */
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
			if (budget.take(clipped.text)) {
				show(segment, clipped.text, clipped.start);
				return;
			}
			stopped = segment;
			if (part.kind === "lines" && shown !== undefined) return;
			show(segment, budget.takeSome(clipped.text), clipped.start);
		},
		finish() {
			const taken = texts.join("");
			const text = withinBudget(taken, options);
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
