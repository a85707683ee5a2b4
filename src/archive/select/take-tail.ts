import { type Segment, spanOf } from "./scan-lines.ts";
import { rangeText, type Selection } from "./selected-part.ts";
import type { Taker } from "./take-range.ts";
import { type BudgetOptions, type CountTokens, createTokenBudget, longestToken, withinBudget } from "./token-budget.ts";

/** Takes the last lines: whole ones from the end, or the end of the last where that alone is too long. */
export function takeTail(count: number, maxTokens: number, countTokens: CountTokens): Taker {
	// What may be shown is held; where the lines asked for begin is remembered for all of them.
	const held: Segment[] = [];
	const lineStarts: number[] = [];
	let heldChars = 0;
	let letGo = 0;

	return {
		visit(segment) {
			if (!segment.continues) lineStarts.push(segment.start);
			held.push(segment);
			heldChars += lengthOf(segment);
			// More characters than the budget has tokens for can never be shown.
			for (;;) {
				const oldest = held[letGo];
				if (oldest === undefined || heldChars - lengthOf(oldest) <= maxTokens * longestToken) break;
				heldChars -= lengthOf(oldest);
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
			const options: BudgetOptions = { maxTokens, countTokens, grows: "backwards" };
			const budget = createTokenBudget(options);
			const texts: string[] = [];
			for (const segment of asked.toReversed()) {
				const whole = segment.endsLine ? `${segment.text}\n` : segment.text;
				const taken = budget.take(whole) ? whole : texts.length === 0 ? budget.takeSome(whole) : "";
				texts.unshift(taken);
				if (taken.length < whole.length) break;
			}
			const text = withinBudget(texts.join(""), options);
			const start = total.chars - text.length;
			const leftOutChars = start - askedStart;
			const shownFrom = asked.find((segment) => spanOf(segment).end > start);
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

function lengthOf(segment: Segment): number {
	const { start, end } = spanOf(segment);
	return end - start;
}
