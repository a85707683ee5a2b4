import { RE2JS } from "re2js";
import { PalimpsestError } from "../errors.ts";
import type { FindRanges, Range } from "./redact.ts";

const longestPattern = 1000;
// Matching takes up to some 20 ns for each character and each instruction of the program.
const largestProgram = 500;

/** Compiles RE2's syntax. Throws PalimpsestError `invalid_argument` if it is too long, too large or invalid. */
export function compilePattern(pattern: string, flags = 0): RE2JS {
	if (pattern === "" || pattern.length > longestPattern) {
		throw invalid(`Expected a regular expression of 1 to ${longestPattern} characters; got ${pattern.length}.`);
	}
	const compiled = compileRe2(pattern, flags);
	if (compiled.programSize() <= largestProgram) return compiled;
	throw invalid("Expected a regular expression with fewer or smaller repetitions; this one is too large to match.");
}

function compileRe2(pattern: string, flags: number): RE2JS {
	try {
		return RE2JS.compile(pattern, flags);
	} catch (cause) {
		const reason = cause instanceof Error ? cause.message : String(cause);
		const expected = "Expected a regular expression in RE2's syntax, which has no lookaround and no back-references";
		throw invalid(`${expected}: ${reason}.`, cause);
	}
}

function invalid(message: string, cause?: unknown): PalimpsestError {
	return new PalimpsestError("invalid_argument", message, { cause });
}

export function findPatterns(patterns: readonly string[]): FindRanges {
	const compiled = patterns.map((pattern) => compilePattern(pattern, RE2JS.MULTILINE));
	return (text) => compiled.flatMap((pattern) => matchesOf(pattern, text));
}

function matchesOf(pattern: RE2JS, text: string): Range[] {
	const ranges: Range[] = [];
	// `test` is faster than a matcher, and most patterns match nothing.
	const matcher = pattern.test(text) ? pattern.matcher(text) : undefined;
	while (matcher?.find()) ranges.push([matcher.start(), matcher.end()]);
	return ranges;
}
