import { unescapedViews } from "./unescaped-views.ts";

/** What stands in a kept text in the place of what must not be stored. */
export const redactionMark = "[redacted before archiving]";

/** A text with what was found replaced, and how many places that were. */
export interface Redacted {
	readonly text: string;
	readonly redactions: number;
}

/** Takes out of a text what must not be stored. A pure function of the text. */
export type Redact = (text: string) => Redacted;

/** A half-open range of characters (UTF-16 code units). */
export type Range = readonly [start: number, end: number];

/** Finds what must not be stored, in any order; ranges may overlap. */
export type FindRanges = (text: string) => readonly Range[];

/** Characters of texts whose redaction is remembered. */
const mostRemembered = 1 << 24;

/**
 * Replaces what any of the finders finds. Each sees the text as it stands, and again with the escapes of JSON undone, so
 * that what is found in a text is found in the JSON of a message that holds it as well. What overlaps is one place.
 */
export function createRedact(finders: readonly FindRanges[]): Redact {
	if (finders.length === 0) return (text) => ({ text, redactions: 0 });
	return rememberRecent((text) => {
		const ranges = [...unescapedViews(text)].flatMap((view) =>
			finders.flatMap((find) => find(view.text).map(([start, end]): Range => [view.before(start), view.before(end)])),
		);
		return replace(text, merged(ranges));
	});
}

/** The ranges that hold at least one character, in order, those that overlap made one. */
function merged(ranges: readonly Range[]): Range[] {
	const apart: Range[] = [];
	for (const [start, end] of ranges.toSorted((a, b) => a[0] - b[0] || a[1] - b[1])) {
		const last = apart.at(-1);
		if (end <= start) continue;
		if (last && start < last[1]) apart[apart.length - 1] = [last[0], Math.max(last[1], end)];
		else apart.push([start, end]);
	}
	return apart;
}

function replace(text: string, ranges: readonly Range[]): Redacted {
	if (ranges.length === 0) return { text, redactions: 0 };
	const kept: string[] = [];
	let from = 0;
	for (const [start, end] of ranges) {
		kept.push(text.slice(from, start));
		from = end;
	}
	return { text: [...kept, text.slice(from)].join(redactionMark), redactions: ranges.length };
}

/** A text is asked for when it is named, when it is stored, and in each call that masks it again. */
function rememberRecent(redact: Redact): Redact {
	const recent = new Map<string, Redacted>();
	let chars = 0;
	return (text) => {
		const redacted = recent.get(text) ?? redact(text);
		if (recent.delete(text)) chars -= text.length;
		if (text.length > mostRemembered) return redacted;
		recent.set(text, redacted);
		chars += text.length;
		for (const oldest of recent.keys()) {
			if (chars <= mostRemembered) break;
			recent.delete(oldest);
			chars -= oldest.length;
		}
		return redacted;
	};
}
