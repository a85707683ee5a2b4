import type { RE2JS } from "re2js";
import { type CountTokens, scaleTokens } from "../engine/conversation/measure.ts";
import { requireWholeNumber } from "../engine/policy/errors.ts";
import type { Policy } from "../engine/policy/schema.ts";
import { PalimpsestError } from "../errors.ts";
import { onCharacter } from "../formats/json-text/text-bytes.ts";
import type { Archive, ScanOrder } from "../storage/archive/archive.ts";
import { compilePattern, leastMaxTokens, usualMaxTokens } from "../storage/archive/part.ts";
import { tokenMeter } from "./count.ts";
import { describeListing, type RecalledListing } from "./recall.ts";

export interface FoundOriginal extends RecalledListing {
	/** The best matching lines in their order, numbered from 1; of a long line, the text around the match. */
	readonly lines: readonly { readonly line: number; readonly text: string }[];
	/** Matching lines in the whole original. */
	readonly matching_lines: number;
}

export interface FoundOriginals {
	/** The last used first; where there are very many, by their references. */
	readonly originals: readonly FoundOriginal[];
	/** Originals that were searched, with those of the searches that this one goes on from. */
	readonly searched: number;
	/** `tokens`: more may be found with a larger `max_tokens`. `time`: others were not searched. Null if all were. */
	readonly stopped: "tokens" | "time" | null;
	/** The `after` with which a search goes on; null if nothing is left. */
	readonly next: string | null;
	readonly order: ScanOrder;
}

export interface SearchRequest {
	readonly archive: Archive;
	readonly policy: Policy;
	/** Words that an original has to hold, all of them, in any case; with `regex`, a pattern in RE2's syntax. */
	readonly query: string;
	readonly regex?: boolean | undefined;
	/** At least 10; default 2 000. */
	readonly maxTokens?: number | undefined;
	/** The `next` of an earlier search. */
	readonly after?: string | undefined;
	/** Monotonic, in ms. */
	readonly elapsed?: (() => number) | undefined;
}

const searchTimeMs = 600;
/** Larger originals are read by their reference, with `grep`. */
const mostBytes = 16 << 20;
const mostLines = 3;
const mostWords = 20;
const longestQuery = 1_000;

/**
 * Searches the originals of the archive's namespace, for 600 ms or until one page of them is searched. Throws PalimpsestError
 * `invalid_argument` for an empty or long query, a pattern that RE2 does not know, and what no search gave as `next`.
 */
export async function searchOriginals(request: SearchRequest): Promise<FoundOriginals> {
	const { archive, policy, maxTokens = usualMaxTokens, elapsed = () => performance.now() } = request;
	const { place: after, searched: before } = readNext(request.after);
	requireWholeNumber("max_tokens", maxTokens, { least: leastMaxTokens });
	const matcher = matcherOf(request);
	const countTokens = await counterOf(policy);
	const originals: FoundOriginal[] = [];
	let searched = before;
	let left = maxTokens;
	let until = Number.POSITIVE_INFINITY;
	let [next, order]: [string | null, ScanOrder] = [request.after ?? null, "use"];
	for await (const scanned of archive.scan(mostBytes, after)) {
		const { text, listing } = scanned;
		({ order } = scanned);
		// The time begins with the first text: to list them may take longer on a slow disk.
		if (searched === before) until = elapsed() + searchTimeMs;
		// Each search gets further, however long the first texts take to come.
		if (searched > before && elapsed() > until) return { originals, searched, stopped: "time", next, order };
		let isBroken = false;
		const matches = matcher(text, () => {
			isBroken ||= searched > before && elapsed() > until;
			return isBroken;
		});
		// The next search begins with this text, and reads all of it.
		if (isBroken) return { originals, searched, stopped: "time", next, order };
		const found = matches.count === 0 ? undefined : await listing();
		// These are records for restoring, not originals.
		if (found !== undefined && found.kind !== "places") {
			const original = { ...describeListing(found), lines: matches.best, matching_lines: matches.count };
			const tokens = countTokens(writeFound(original));
			// One that is too long alone is shown all the same, so that each search gets further.
			if (tokens > left && originals.length > 0) {
				return { originals, searched: searched + 1, stopped: "tokens", next, order };
			}
			left -= tokens;
			originals.push(original);
		}
		searched += 1;
		next = `${scanned.place}+${searched}`;
	}
	return { originals, searched, stopped: null, next: null, order };
}

/** A place in the archive, and how many originals were searched up to there. */
function readNext(next: string | undefined): { readonly place: string | undefined; readonly searched: number } {
	const [, place, searched] = /^(.+)\+(\d{1,12})$/.exec(next ?? "") ?? [];
	return { place: place ?? next, searched: Number(searched ?? 0) };
}

export const originalNames: Readonly<Record<RecalledListing["kind"], string>> = {
	result: "Original result",
	text: "Original text",
	arguments: "Original arguments",
	group: "Dropped messages, JSON",
	media: "Original part, JSON",
	places: "Places",
};

/**
 * All of a search as text; `how` says how one of the originals is read, `goOn` how a search goes on after a place. Nobody may
 * read "nothing was found" where something was not searched.
 */
export function writeSearch(
	{ originals, searched, stopped, next, order }: FoundOriginals,
	{ how, goOn }: { readonly how: string; readonly goOn: (after: string) => string },
): string {
	const all = `${searched} ${searched === 1 ? "original" : "originals"}`;
	const further = next === null ? "" : ` Go on: ${goOn(next)}`;
	const inOrder = order === "use" ? ", the last used first" : ", in no order of age";
	const ends = {
		time: `Not all were searched, but ${all}${inOrder}.${further}`,
		tokens: `There are more. Name further words, or allow more tokens.${further}`,
		all: `Searched all of ${all}.`,
	};
	const nothing = stopped === "time" ? "Nothing was found yet." : "No original was found.";
	const first = originals.length === 0 ? nothing : how;
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
	if (regex) return byPattern(compilePattern(composed(query)));
	const words = [...new Set(folded(query).trim().split(/\s+/))];
	if (words.length <= mostWords) return byWords(words);
	throw new PalimpsestError(
		"invalid_argument",
		`Expected at most ${mostWords} words in \`query\`; got ${words.length}.`,
	);
}

/** A text matches if it holds all words. Lines with more of them come first. */
function byWords(words: readonly string[]): Matcher {
	return (text) => {
		const forms = spellingsOf(text).map((spelled) => spelled(text));
		if (!words.every((word) => forms.some((form) => form.includes(word)))) return none;
		const lines = linesOf(text).flatMap((line, index) => {
			const places = words.flatMap((word) => placeOfWord(line, word) ?? []);
			if (places.length === 0) return [];
			const first = places.reduce((one, other) => (other.at < one.at ? other : one));
			return [{ index, line, worth: places.length, ...first }];
		});
		const best = lines.toSorted((a, b) => b.worth - a.worth || a.index - b.index).slice(0, mostLines);
		return { count: lines.length, best: best.sort((a, b) => a.index - b.index).map(shown) };
	};
}

type Spelling = (text: string) => string;

const asItIs: Spelling = (text) => text;
const lower: Spelling = (text) => text.toLowerCase();
const composed: Spelling = (text) => text.normalize("NFC");

/** Letters by their case, quotes and hyphens by their look, and characters that nobody sees. */
const alike = new Map([
	...["i\u0307", "\u0131"].map((one) => [one, "i"] as const),
	...[..."\u2018\u2019\u201b\u02bc"].map((one) => [one, "'"] as const),
	...[..."\u201c\u201d\u201f"].map((one) => [one, '"'] as const),
	...[..."\u2010\u2011\u2012\u2013\u2014\u2015\u2212"].map((one) => [one, "-"] as const),
	...[..."\u00ad\u200b\u200c\u200d\u2060\ufeff"].map((one) => [one, ""] as const),
	["\u00df", "ss"],
	["\u03c2", "\u03c3"],
]);
const alikeOnes = new RegExp([...alike.keys()].join("|"), "g");
const escaped = /\\u([\da-f]{4})/g;

/**
 * Programs and models spell differently what a person reads as one: names of files on macOS are decomposed (Unicode NFD), JSON of
 * many tools is all ASCII (`\u00fc`), prose has typographic quotes, and models write composed letters and plain quotes. A plain
 * letter under a mark is found only in the text as it is.
 */
const folded: Spelling = (text) =>
	lower(text)
		.replace(escaped, (_, code) => String.fromCharCode(Number.parseInt(code, 16)).toLowerCase())
		.normalize("NFKC")
		.replace(alikeOnes, (one) => alike.get(one) ?? one);

function spellingsOf(text: string): readonly Spelling[] {
	return isPlain(text) ? [lower] : [lower, folded];
}

function isPlain(text: string): boolean {
	return !/[^\0-\x7f]|\\u[\da-f]{4}/i.test(text);
}

type Place = Pick<Shown, "at" | "spelled">;

function placeOfWord(line: string, word: string): Place | undefined {
	for (const spelled of spellingsOf(line)) {
		const at = spelled(line).indexOf(word);
		if (at !== -1) return { at, spelled };
	}
	return undefined;
}

const linesBetweenLooks = 64;

function byPattern(pattern: RE2JS): Matcher {
	return (text, isOver) => {
		const best: Matches["best"][number][] = [];
		let count = 0;
		for (const [index, line] of linesOf(text).entries()) {
			if (index % linesBetweenLooks === 0 && isOver()) break;
			const matched = placeOfPattern(line, pattern);
			if (matched === undefined) continue;
			count += 1;
			if (best.length < mostLines) best.push(shown({ index, line, ...matched }));
		}
		return { count, best };
	};
}

/** A pattern may be written for the text as it is, or composed. */
function placeOfPattern(line: string, pattern: RE2JS): Place | undefined {
	for (const spelled of isPlain(line) ? [asItIs] : [asItIs, composed]) {
		const matcher = pattern.matcher(spelled(line));
		if (matcher.find()) return { at: matcher.start(), spelled };
	}
	return undefined;
}

function linesOf(text: string): string[] {
	const lines = text.split(/\r?\n/);
	if (lines.at(-1) === "") lines.pop();
	return lines;
}

const longestShown = 200;
const beforeMatch = 60;

interface Shown {
	readonly index: number;
	readonly line: string;
	/** The place of the match in the spelling in which it was found. */
	readonly at: number;
	readonly spelled: Spelling;
}

function shown({ index, line, at, spelled }: Shown) {
	const from =
		line.length <= longestShown ? 0 : onCharacter(line, Math.max(0, placeOf(at, line, spelled) - beforeMatch));
	const to = onCharacter(line, Math.min(line.length, from + longestShown), 1);
	const text = `${from > 0 ? "…" : ""}${line.slice(from, to)}${to < line.length ? "…" : ""}`;
	return { line: index + 1, text: text.toWellFormed() };
}

/** The place in a line of a place in another spelling of it, in which a longer beginning of the line is hardly ever shorter. */
function placeOf(at: number, line: string, spelled: Spelling): number {
	let [least, most] = [0, line.length];
	while (least < most) {
		const middle = Math.ceil((least + most) / 2);
		if (spelled(line.slice(0, middle)).length <= at) least = middle;
		else most = middle - 1;
	}
	return least;
}
