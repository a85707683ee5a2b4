import type { RE2JS } from "re2js";
import type { Archive } from "../archive/archive.ts";
import { compilePattern, leastMaxTokens, usualMaxTokens } from "../archive/part.ts";
import { onCharacter } from "../archive/text-bytes.ts";
import { type CountTokens, scaleTokens } from "../conversation/measure.ts";
import { PalimpsestError } from "../errors.ts";
import { requireWholeNumber } from "../policy/errors.ts";
import type { Policy } from "../policy/schema.ts";
import { tokenMeter } from "./count.ts";
import { describeListing, type RecalledListing } from "./recall.ts";

export interface FoundOriginal extends RecalledListing {
	/** The best matching lines in their order, numbered from 1; of a long line, the text around the match. */
	readonly lines: readonly { readonly line: number; readonly text: string }[];
	/** Matching lines in the whole original. */
	readonly matching_lines: number;
}

export interface FoundOriginals {
	/** The last used first. */
	readonly originals: readonly FoundOriginal[];
	/** Originals that were searched. */
	readonly searched: number;
	/** `tokens`: more may be found with a larger `max_tokens`. `time`: older originals were not searched. Null if all were. */
	readonly stopped: "tokens" | "time" | null;
}

export interface SearchRequest {
	readonly archive: Archive;
	readonly policy: Policy;
	/** Words that an original has to hold, all of them, in any case; with `regex`, a pattern in RE2's syntax. */
	readonly query: string;
	readonly regex?: boolean | undefined;
	/** At least 10; default 2 000. */
	readonly maxTokens?: number | undefined;
	/** Monotonic, in ms. */
	readonly elapsed?: (() => number) | undefined;
}

const searchTimeMs = 1_000;
/** Larger originals are read by their reference, with `grep`. */
const mostBytes = 16 << 20;
const mostLines = 3;
const mostWords = 20;
const longestQuery = 1_000;

/**
 * Searches the originals of the archive's namespace, the last used first, for a second after they are
 * listed. Throws PalimpsestError
 * `invalid_argument` for an empty or long query and a pattern that RE2 does not know.
 */
export async function searchOriginals(request: SearchRequest): Promise<FoundOriginals> {
	const { archive, policy, maxTokens = usualMaxTokens, elapsed = () => performance.now() } = request;
	requireWholeNumber("max_tokens", maxTokens, { least: leastMaxTokens });
	const matcher = matcherOf(request);
	const countTokens = await counterOf(policy);
	let until = Number.POSITIVE_INFINITY;
	const originals: FoundOriginal[] = [];
	let searched = 0;
	let left = maxTokens;
	for await (const { text, listing } of archive.scan(mostBytes)) {
		// Listing the originals takes a while by itself, and then none would be searched.
		if (searched === 0) until = elapsed() + searchTimeMs;
		else if (elapsed() > until) return { originals, searched, stopped: "time" };
		searched += 1;
		const matches = matcher(text, () => elapsed() > until);
		if (matches.count === 0) continue;
		const found = await listing();
		// These are records for restoring, not originals.
		if (found === undefined || found.kind === "places") continue;
		const original = { ...describeListing(found), lines: matches.best, matching_lines: matches.count };
		const tokens = countTokens(writeFound(original));
		if (tokens > left) return { originals, searched, stopped: "tokens" };
		left -= tokens;
		originals.push(original);
	}
	return { originals, searched, stopped: null };
}

export const originalNames: Readonly<Record<RecalledListing["kind"], string>> = {
	result: "Original result",
	text: "Original text",
	arguments: "Original arguments",
	group: "Dropped messages, JSON",
	media: "Original part, JSON",
	places: "Places",
};

/** All of a search as text; `how` says how one of the originals is read. */
export function writeSearch({ originals, searched, stopped }: FoundOriginals, how: string): string {
	const all = `${searched} ${searched === 1 ? "original" : "originals"}`;
	const ends = {
		time: `The search stopped after ${all}, the last used first. Name rarer words.`,
		tokens: "There are more. Name further words, or allow more tokens.",
		all: `Searched all of ${all}.`,
	};
	const first = originals.length === 0 ? "No original was found." : how;
	return [first, ...originals.map(writeFound), ends[stopped ?? "all"]].join("\n");
}

/** The reference, tool, age and size of an original, then its best matching lines. */
function writeFound({ lines, matching_lines: count, ...listing }: FoundOriginal): string {
	// A tool's name comes from the conversation, so it is quoted and cut.
	const tool = listing.tool_name === undefined ? "" : ` of ${JSON.stringify(listing.tool_name.slice(0, 64))}`;
	const age = ageOf(Date.now() - Date.parse(listing.archived_at));
	const matching = `${count} matching ${count === 1 ? "line" : "lines"}`;
	const head = `${listing.ref} ${originalNames[listing.kind]}${tool}, ${age} old, ${listing.chars} characters, ${matching}:`;
	return [head, ...lines.map(({ line, text }) => `  ${line}: ${text}`)].join("\n");
}

const [minute, hour, day] = [60_000, 3_600_000, 86_400_000];

function ageOf(ms: number): string {
	if (ms < hour) return `${Math.max(0, Math.floor(ms / minute))} min`;
	return ms < 2 * day ? `${Math.floor(ms / hour)} h` : `${Math.floor(ms / day)} days`;
}

async function counterOf(policy: Policy): Promise<CountTokens> {
	const { meter, estimate } = await tokenMeter(policy, policy.guard.model ?? undefined);
	return (text) => scaleTokens({ tokens: meter.countTokens(text) }, estimate.scale).tokens;
}

interface Matches {
	readonly count: number;
	readonly best: FoundOriginal["lines"];
}

type Matcher = (text: string, isOver: () => boolean) => Matches;

const none: Matches = { count: 0, best: [] };

function matcherOf({ query, regex = false }: SearchRequest): Matcher {
	if (typeof query !== "string" || query.trim() === "" || query.length > longestQuery) {
		const message = `Expected \`query\` to have 1 to ${longestQuery} characters that are not all blank.`;
		throw new PalimpsestError("invalid_argument", message);
	}
	if (regex) return byPattern(compilePattern(query));
	const words = [...new Set(query.toLowerCase().trim().split(/\s+/))];
	if (words.length <= mostWords) return byWords(words);
	throw new PalimpsestError(
		"invalid_argument",
		`Expected at most ${mostWords} words in \`query\`; got ${words.length}.`,
	);
}

/** A text matches if it holds all words. Lines with more of them come first. */
function byWords(words: readonly string[]): Matcher {
	return (text) => {
		const lower = text.toLowerCase();
		if (!words.every((word) => lower.includes(word))) return none;
		const lines = linesOf(text).flatMap((line, index) => {
			const lowerLine = line.toLowerCase();
			const places = words.map((word) => lowerLine.indexOf(word)).filter((at) => at !== -1);
			return places.length === 0 ? [] : [{ index, line, worth: places.length, at: Math.min(...places) }];
		});
		const best = lines.toSorted((a, b) => b.worth - a.worth || a.index - b.index).slice(0, mostLines);
		return { count: lines.length, best: best.sort((a, b) => a.index - b.index).map(shown) };
	};
}

const linesBetweenLooks = 64;

function byPattern(pattern: RE2JS): Matcher {
	return (text, isOver) => {
		const best: Matches["best"][number][] = [];
		let count = 0;
		for (const [index, line] of linesOf(text).entries()) {
			if (index % linesBetweenLooks === 0 && isOver()) break;
			const matcher = pattern.matcher(line);
			if (!matcher.find()) continue;
			count += 1;
			if (best.length < mostLines) best.push(shown({ index, line, at: matcher.start() }));
		}
		return { count, best };
	};
}

function linesOf(text: string): string[] {
	const lines = text.split(/\r?\n/);
	if (lines.at(-1) === "") lines.pop();
	return lines;
}

const longestShown = 200;
const beforeMatch = 60;

function shown({ index, line, at }: { readonly index: number; readonly line: string; readonly at: number }) {
	const from = line.length <= longestShown ? 0 : onCharacter(line, Math.max(0, at - beforeMatch));
	const to = onCharacter(line, Math.min(line.length, from + longestShown), 1);
	const text = `${from > 0 ? "…" : ""}${line.slice(from, to)}${to < line.length ? "…" : ""}`;
	return { line: index + 1, text: text.toWellFormed() };
}
