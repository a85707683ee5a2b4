import { fillTemplate } from "../masking/template.ts";
import type { NoticeWordings } from "../policy/wordings.ts";
import { type EncodedRange, encodedMark, findEncoded } from "./encoded.ts";
import type { JsonFailures } from "./failures.ts";
import { type JsonSpans, valueKinds } from "./json-spans.ts";

/** The values of a JSON text by number, and how many characters each takes: whole, in part, and as a mark. */
export interface JsonSizes {
	readonly spans: JsonSpans;
	readonly failures: JsonFailures;
	readonly wording: NoticeWordings;
	/** The key of marks, which the text does not contain. */
	readonly markKey: string;
	/** Characters of each value with marks in place of encoded bytes. */
	readonly size: ArrayLike<number>;
	readonly holdsEncoded: (value: number) => boolean;
	readonly encodedAt: (value: number) => readonly EncodedRange[];
	/** Characters of the longest mark of omitted items, keys, and characters inside a string. */
	readonly longest: { readonly items: number; readonly keys: number; readonly inside: number };
}

export function measureJson(spans: JsonSpans, failures: JsonFailures, wording: NoticeWordings): JsonSizes {
	const { text } = spans;
	const encoded = encodedStrings(spans, wording);
	const count = encoded.size.length;
	let markKey = "_truncated";
	while (text.includes(`"${markKey}"`)) markKey = `_${markKey}`;
	return {
		spans,
		failures,
		wording,
		markKey,
		size: encoded.size,
		holdsEncoded: encoded.holdsEncoded,
		encodedAt: encoded.at,
		longest: {
			items: fillTemplate(wording.items, { omitted: count, total: count }).length,
			keys: fillTemplate(wording.keys, { omitted: count, total: count }).length,
			inside: fillTemplate(wording.inside, { omitted_chars: text.length }).length,
		},
	};
}

export const isString = ({ spans }: JsonSizes, value: number): boolean => spans.kind[value] === valueKinds.string;

export const isLeaf = (sizes: JsonSizes, value: number): boolean =>
	isString(sizes, value) || sizes.spans.kind[value] === valueKinds.other;

/** Characters of a mark among the children of a value, at most. */
export function markLength({ spans, markKey, longest }: JsonSizes, value: number): number {
	return `{"${markKey}":""}`.length + (spans.kind[value] === valueKinds.object ? longest.keys : longest.items);
}

/** Characters that a value takes at least, cut or as a mark. */
export function shortest(sizes: JsonSizes, value: number): number {
	const cut = isLeaf(sizes, value) ? sizes.longest.inside : markLength(sizes, value);
	return Math.min(sizes.size[value] as number, cut + 2);
}

/** Characters of the key of a value with its colon; 0 in a list. */
export function keyLength({ spans }: JsonSizes, value: number): number {
	const key = (spans.keyEnd[value] as number) - (spans.keyStart[value] as number);
	return key === 0 ? 0 : key + 1;
}

/** Characters that a value with a failure takes so that the failure is shown. */
export function failureLength(sizes: JsonSizes, value: number): number {
	const { failures, size, longest, spans } = sizes;
	const whole = size[value] as number;
	if (whole <= wholeFailure) return whole;
	const leaf = failures.leafOf(value);
	const [line] = failures.linesOf(leaf);
	const shown = line === undefined ? (size[leaf] as number) : line.end - line.start + 2 * longest.inside + 2;
	let needed = Math.min(size[leaf] as number, Math.max(shown, shortest(sizes, leaf)));
	// Each parent needs its key, its brackets and a mark at each side.
	for (let around = leaf; around > value; ) {
		const parent = parentOf(spans, around, value);
		needed += keyLength(sizes, around) + 3 + 2 * (markLength(sizes, parent) + 1);
		around = parent;
	}
	return Math.min(whole, needed);
}

/** A value with a failure is shown whole up to this length. */
const wholeFailure = 1_500;

function parentOf({ next }: JsonSpans, value: number, top: number): number {
	let parent = top;
	for (let child = top; child < value; ) {
		if ((next[child] as number) > value) {
			parent = child;
			child += 1;
		} else child = next[child] as number;
	}
	return parent;
}

/** The encoded bytes in long strings, and the size of each value with marks in their place. */
function encodedStrings({ text, kind, start, end, size, next }: JsonSpans, wording: NoticeWordings) {
	const found = new Map<number, readonly EncodedRange[]>();
	/** For each value what the marks of all values before it save, in characters. */
	const saved = new Float64Array(kind.length + 1);
	for (const [value, one] of kind.entries()) {
		const ranges =
			one === valueKinds.string ? findEncoded(text, (start[value] as number) + 1, (end[value] as number) - 1) : [];
		if (ranges.length > 0) found.set(value, ranges);
		const saving = ranges.reduce((sum, range) => sum + range.end - range.start - encodedMark(range, wording).length, 0);
		saved[value + 1] = (saved[value] as number) + saving;
	}
	const savedIn = (value: number) => (saved[next[value] as number] as number) - (saved[value] as number);
	return {
		at: (value: number): readonly EncodedRange[] => found.get(value) ?? [],
		holdsEncoded: (value: number) => savedIn(value) > 0,
		size: found.size === 0 ? size : size.map((chars, value) => chars - savedIn(value)),
	};
}
