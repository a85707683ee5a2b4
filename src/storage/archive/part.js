import { RE2JS } from "re2js";
import { requireWholeNumber } from "../../engine/policy/errors.js";
import { PalimpsestError } from "../../errors.js";

const mostContext = 100;
/** Fewer tokens might not hold one character, and then requests for the rest would never end. */
export const leastMaxTokens = 10;
export const usualMaxTokens = 2000;
export function parsePart(request) {
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
function partOf({ lines, chars, grep, context = 2, head, tail }) {
	requireWholeNumber("tail", tail, { least: 1 });
	requireWholeNumber("head", head, { least: 1 });
	if (tail !== undefined) return { kind: "tail", count: tail };
	if (head !== undefined) return { kind: "lines", first: 1, last: head };
	const within = chars === undefined ? parseLines(lines ?? "1-") : parseChars(chars);
	if (grep === undefined) return within;
	requireWholeNumber("context", context, { least: 0, most: mostContext });
	return { kind: "grep", source: grep, pattern: compilePattern(grep), context, within };
}
function parseLines(given) {
	const [, from, dash, to] = /^\s*(\d{1,15})\s*(?:(-)\s*(\d{1,15})?)?\s*$/.exec(given) ?? [];
	const first = Number(from);
	const last = to !== undefined ? Number(to) : dash === undefined ? first : Number.POSITIVE_INFINITY;
	if (first >= 1 && last >= first) return { kind: "lines", first, last };
	throw invalid("Expected `lines` such as 120-180, 120- or 120, counted from 1, with the smaller number first.");
}
function parseChars(given) {
	const [, from, to] = /^\s*(\d{1,15})\s*-\s*(\d{1,15})?\s*$/.exec(given) ?? [];
	const start = Number(from);
	const end = to === undefined ? Number.POSITIVE_INFINITY : Number(to);
	if (end > start) return { kind: "chars", start, end };
	throw invalid("Expected `chars` such as 8000-12000 or 8000-, counted from 0, without the end.");
}
export function requireWithin(part, total) {
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
export function compilePattern(pattern, flags = 0) {
	if (pattern === "" || pattern.length > longestPattern) {
		throw invalid(`Expected a regular expression of 1 to ${longestPattern} characters; got ${pattern.length}.`);
	}
	const compiled = compileRe2(pattern, flags);
	if (compiled.programSize() <= largestProgram) return compiled;
	throw invalid("Expected a regular expression with fewer or smaller repetitions; this one is too large to match.");
}
function compileRe2(pattern, flags) {
	try {
		return RE2JS.compile(pattern, flags);
	} catch (cause) {
		const reason = cause instanceof Error ? cause.message : String(cause);
		const expected = "Expected a regular expression in RE2's syntax, which has no lookaround and no back-references";
		throw invalid(`${expected}: ${reason}.`, cause);
	}
}
function invalid(message, cause) {
	return new PalimpsestError("invalid_argument", message, { cause });
}
export function rangeText(first, last) {
	if (last === Number.POSITIVE_INFINITY) return `${first}-`;
	return first === last ? `${first}` : `${first}-${last}`;
}
