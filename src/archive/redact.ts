import { RE2JS } from "re2js";
import { compilePattern } from "./compile-pattern.ts";

/** What stands in a kept text in the place of what a pattern matched. */
export const redactionMark = "[redacted before archiving]";

/** A text with its matches replaced, and how many were. */
export interface Redacted {
	readonly text: string;
	readonly redactions: number;
}

/** Takes out of a text what must not be stored. */
export type Redact = (text: string) => Redacted;

/**
 * Replaces what any of the patterns matches, one pattern after the other. The patterns are RE2's, matched in time
 * proportional to the text.
 *
 * @throws PalimpsestError `invalid_argument` for a pattern that is none.
 */
export function createRedact(patterns: readonly string[]): Redact {
	const compiled = patterns.map((pattern) => compilePattern(pattern, { flags: RE2JS.MULTILINE }));
	return (text) => compiled.reduce(redactOne, { text, redactions: 0 });
}

/** Redacts with each in turn. */
export function inTurn(all: readonly Redact[]): Redact {
	return (text) =>
		all.reduce(
			(so, redact) => {
				const { text: next, redactions } = redact(so.text);
				return { text: next, redactions: so.redactions + redactions };
			},
			{ text, redactions: 0 },
		);
}

function redactOne({ text, redactions }: Redacted, pattern: RE2JS): Redacted {
	if (!pattern.test(text)) return { text, redactions };
	const matcher = pattern.matcher(text);
	const parts: string[] = [];
	let end = 0;
	while (matcher.find()) {
		// A pattern that matches nothing, such as `x*`, takes nothing out.
		if (matcher.end() === matcher.start()) continue;
		parts.push(text.slice(end, matcher.start()));
		end = matcher.end();
	}
	if (parts.length === 0) return { text, redactions };
	return { text: [...parts, text.slice(end)].join(redactionMark), redactions: redactions + parts.length };
}
