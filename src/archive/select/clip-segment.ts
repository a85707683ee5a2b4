import type { Range } from "./part.ts";
import { type Segment, spanOf } from "./scan-lines.ts";

/** What a range has of a segment, the line's end included; `undefined` where that is nothing. */
export function clipSegment(
	segment: Segment,
	part: Range,
): { readonly text: string; readonly start: number } | undefined {
	const whole = segment.endsLine ? `${segment.text}\n` : segment.text;
	if (part.kind === "lines") {
		const isIn = segment.line >= part.first && segment.line <= part.last;
		return isIn ? { text: whole, start: segment.start } : undefined;
	}
	const { start, end } = spanOf(segment);
	if (end <= part.start || start >= part.end) return undefined;
	const from = onCharacter(whole, Math.max(0, part.start - start), -1);
	const to = onCharacter(whole, Math.min(whole.length, part.end - start), 1);
	return { text: whole.slice(from, to), start: start + from };
}

/** An index that splits no character: the given one, or the one beside it. */
function onCharacter(text: string, index: number, aside: -1 | 1): number {
	if (index <= 0 || index >= text.length) return index;
	return (text.codePointAt(index - 1) ?? 0) > 0xffff ? index + aside : index;
}
