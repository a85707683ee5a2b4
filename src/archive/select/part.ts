import type { RE2JS } from "re2js";
import { PalimpsestError } from "../../errors.ts";
import { compilePattern } from "../compile-pattern.ts";

/** A part of an original, as it is asked for. Nothing but `maxTokens` asks for all of it. */
export interface PartRequest {
	/** Lines from 1 on, both ends included: `120-180`, `120-` or `120`. */
	readonly lines?: string | undefined;
	/** Characters (UTF-16 code units) from 0 on, the end excluded: `8000-12000` or `8000-`. For lines too long to show. */
	readonly chars?: string | undefined;
	/** The lines that a regular expression (RE2's syntax) matches; within `lines` or `chars` where given. */
	readonly grep?: string | undefined;
	/** Lines to show before and after each match, 0 to 100; 2 unless given. */
	readonly context?: number | undefined;
	/** The first so many lines. */
	readonly head?: number | undefined;
	/** The last so many lines. */
	readonly tail?: number | undefined;
	/** The most tokens to answer with; 2 000 unless given, 10 at the least. */
	readonly maxTokens?: number | undefined;
}

/** A range of an original, checked. Lines from 1 on with both ends, characters from 0 on without the end. */
export type Range =
	| { readonly kind: "lines"; readonly first: number; readonly last: number }
	| { readonly kind: "chars"; readonly start: number; readonly end: number };

/** A part of an original, checked. */
export type Part =
	| Range
	| { readonly kind: "tail"; readonly count: number }
	| {
			readonly kind: "grep";
			readonly source: string;
			readonly pattern: RE2JS;
			readonly context: number;
			readonly within: Range;
	  };

const defaultMaxTokens = 2000;
const defaultContext = 2;
const mostContext = 100;
/** Fewer might not hold one character, so that asking for the rest would never end. */
const leastMaxTokens = 10;

/**
 * Checks what was asked for.
 *
 * @throws PalimpsestError `invalid_argument`.
 */
export function parsePart(request: PartRequest): { readonly part: Part; readonly maxTokens: number } {
	const { lines, chars, grep, context, head, tail, maxTokens = defaultMaxTokens } = request;
	const all = lines === undefined && chars === undefined ? { grep, head, tail } : { lines, chars, head, tail };
	const ways = Object.entries(all).filter(([, value]) => value !== undefined);
	if (ways.length > 1) {
		throw invalid(`Expected one way to choose a part; got ${ways.map(([name]) => name).join(" and ")}.`);
	}
	if (context !== undefined && grep === undefined) throw invalid("Expected `context` only together with `grep`.");
	requireWhole("max_tokens", maxTokens, leastMaxTokens, Number.MAX_SAFE_INTEGER);
	return { part: partOf({ lines, chars, grep, context, head, tail }), maxTokens };
}

function partOf({ lines, chars, grep, context = defaultContext, head, tail }: PartRequest): Part {
	if (tail !== undefined) return { kind: "tail", count: requireWhole("tail", tail, 1, Number.MAX_SAFE_INTEGER) };
	if (head !== undefined) {
		return { kind: "lines", first: 1, last: requireWhole("head", head, 1, Number.MAX_SAFE_INTEGER) };
	}
	const within = chars === undefined ? parseLines(lines ?? "1-") : parseChars(chars);
	if (grep === undefined) return within;
	requireWhole("context", context, 0, mostContext);
	return { kind: "grep", source: grep, pattern: compilePattern(grep), context, within };
}

function parseLines(given: string): Range {
	const [, from, dash, to] = /^\s*(\d{1,15})\s*(?:(-)\s*(\d{1,15})?)?\s*$/.exec(given) ?? [];
	const first = Number(from);
	const last = to !== undefined ? Number(to) : dash === undefined ? first : Number.POSITIVE_INFINITY;
	if (from !== undefined && first >= 1 && last >= first) return { kind: "lines", first, last };
	throw invalid("Expected `lines` to be such as 120-180, 120- or 120: from 1 on, the smaller number first.");
}

function parseChars(given: string): Range {
	const [, from, to] = /^\s*(\d{1,15})\s*-\s*(\d{1,15})?\s*$/.exec(given) ?? [];
	const start = Number(from);
	const end = to === undefined ? Number.POSITIVE_INFINITY : Number(to);
	if (from !== undefined && end > start) return { kind: "chars", start, end };
	throw invalid("Expected `chars` to be such as 8000-12000 or 8000-: from 0 on, the end not included.");
}

function requireWhole(name: string, value: number, least: number, most: number): number {
	if (Number.isSafeInteger(value) && value >= least && value <= most) return value;
	const range = most === Number.MAX_SAFE_INTEGER ? `${least} or more` : `${least} to ${most}`;
	throw invalid(`Expected \`${name}\` to be a whole number, ${range}; got ${String(value).slice(0, 40)}.`);
}

function invalid(message: string): PalimpsestError {
	return new PalimpsestError("invalid_argument", message);
}
