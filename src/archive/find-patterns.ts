import { RE2JS } from "re2js";
import { compilePattern } from "./compile-pattern.ts";
import type { FindRanges, Range } from "./redact.ts";

/**
 * Finds what any of the patterns matches. They are RE2's, matched in time proportional to the text; `^` and `$` match at
 * each line.
 *
 * @throws PalimpsestError `invalid_argument` for a pattern that is none.
 */
export function findPatterns(patterns: readonly string[]): FindRanges {
	const compiled = patterns.map((pattern) => compilePattern(pattern, { flags: RE2JS.MULTILINE }));
	return (text) => compiled.flatMap((pattern) => matchesOf(pattern, text));
}

function matchesOf(pattern: RE2JS, text: string): Range[] {
	if (!pattern.test(text)) return [];
	const ranges: Range[] = [];
	const matcher = pattern.matcher(text);
	while (matcher.find()) ranges.push([matcher.start(), matcher.end()]);
	return ranges;
}
