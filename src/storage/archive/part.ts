import { RE2JS } from "re2js";
import { requireWholeNumber } from "../../engine/policy/errors.ts";
import { PalimpsestError } from "../../errors.ts";

/** A request without a part is for the whole original. */
export interface PartRequest {
	/** From 1 on, both ends included: `120-180`, `120-` or `120`. */
	readonly lines?: string | undefined;
	/** UTF-16 code units from 0 on, the end excluded: `8000-12000` or `8000-`. For lines too long to show. */
	readonly chars?: string | undefined;
	/** RE2's syntax; searches within `lines` or `chars` if given. */
	readonly grep?: string | undefined;
	/** Lines before and after each match, 0 to 100; default 2. */
	readonly context?: number | undefined;
	readonly head?: number | undefined;
	readonly tail?: number | undefined;
	/** At least 10; default 2 000. */
	readonly maxTokens?: number | undefined;
}

export interface SelectedPart {
	/** For `grep`, lines as grep shows them: `12:` before a match, `12-` before its surroundings, `--` between groups. */
	readonly text: string;
	readonly tokens: number;
	/** UTF-16 code units. Text after the last `\n` is a line. */
	readonly total: { readonly lines: number; readonly chars: number };
	/** Lines from 1 on with both ends, characters from 0 on without the end; null if the text is empty. */
	readonly shown: {
		readonly lines: { readonly first: number; readonly last: number };
		readonly chars: { readonly start: number; readonly end: number };
	} | null;
	/** For `grep`: matching lines, as far as was searched, and those shown; null otherwise. */
	readonly matches: { readonly found: number; readonly shown: number } | null;
	/** Requested characters that are not shown; 0 for `grep`. */
	readonly leftOutChars: number;
	/** Null if everything requested is shown. */
	readonly next: PartRequest | null;
}

/** Lines from 1 on with both ends, characters from 0 on without the end. */
export type Range =
	| { readonly kind: "lines"; readonly first: number; readonly last: number }
	| { readonly kind: "chars"; readonly start: number; readonly end: number };

export interface GrepPart {
	readonly kind: "grep";
	readonly source: string;
	readonly pattern: RE2JS;
	readonly context: number;
	readonly within: Range;
}

type Part = Range | { readonly kind: "tail"; readonly count: number } | GrepPart;

const mostContext = 100;
/** Fewer tokens might not hold one character, and then requests for the rest would never end. */
export const leastMaxTokens = 10;
export const usualMaxTokens = 2000;

export function parsePart(request: PartRequest): { readonly part: Part; readonly maxTokens: number } {
	const { lines, chars, grep, context, head, tail, maxTokens = usualMaxTokens } = request;
	const all = lines === undefined && chars === undefined ? { grep, head, tail } : { lines, chars, head, tail };
	const ways = Object.entries(all).filter(([, value]) => value !== undefined);
	if (ways.length > 1) {
		throw invalid(`Expected one way to choose a part; got ${ways.map(([name]) => name).join(" and ")}.`);
	}
	if (context !== undefined && grep === undefined) throw invalid("Expected `context` only together with `grep`.");
	requireWholeNumber("max_tokens", maxTokens, { least: leastMaxTokens });
	return { maxTokens, part: partOf(request) };
}

function partOf({ lines, chars, grep, context = 2, head, tail }: PartRequest): Part {
	requireWholeNumber("tail", tail, { least: 1 });
	requireWholeNumber("head", head, { least: 1 });
	if (tail !== undefined) return { kind: "tail", count: tail };
	if (head !== undefined) return { kind: "lines", first: 1, last: head };
	const within = chars === undefined ? parseLines(lines ?? "1-") : parseChars(chars);
	if (grep === undefined) return within;
	requireWholeNumber("context", context, { least: 0, most: mostContext });
	return { kind: "grep", source: grep, pattern: compilePattern(grep), context, within };
}

function parseLines(given: string): Range {
	const [, from, dash, to] = /^\s*(\d{1,15})\s*(?:(-)\s*(\d{1,15})?)?\s*$/.exec(given) ?? [];
	const first = Number(from);
	const last = to !== undefined ? Number(to) : dash === undefined ? first : Number.POSITIVE_INFINITY;
	if (first >= 1 && last >= first) return { kind: "lines", first, last };
	throw invalid("Expected `lines` such as 120-180, 120- or 120, counted from 1, with the smaller number first.");
}

function parseChars(given: string): Range {
	const [, from, to] = /^\s*(\d{1,15})\s*-\s*(\d{1,15})?\s*$/.exec(given) ?? [];
	const start = Number(from);
	const end = to === undefined ? Number.POSITIVE_INFINITY : Number(to);
	if (end > start) return { kind: "chars", start, end };
	throw invalid("Expected `chars` such as 8000-12000 or 8000-, counted from 0, without the end.");
}

export function requireWithin(part: Part, total: SelectedPart["total"]): void {
	if (part.kind === "tail") return;
	const range = part.kind === "grep" ? part.within : part;
	const isChars = range.kind === "chars";
	const first = isChars ? range.start + 1 : range.first;
	const size = isChars ? total.chars : total.lines;
	if (first === 1 || first <= size) return;
	const unit = isChars ? "characters" : "lines";
	throw invalid(`Expected \`${range.kind}\` to begin within the original: it has ${size} ${unit}.`);
}

const longestPattern = 1000;
// Matching takes up to about 20 ns for each character and each instruction.
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

export function rangeText(first: number, last: number): string {
	if (last === Number.POSITIVE_INFINITY) return `${first}-`;
	return first === last ? `${first}` : `${first}-${last}`;
}
