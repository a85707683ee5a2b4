import { parseJsonObject } from "../engine/conversation/json.ts";
import { scaleTokens } from "../engine/conversation/measure.ts";
import type { Policy } from "../engine/policy/schema.ts";
import { wordings } from "../engine/policy/wordings.ts";
import {
	addRange,
	type CharRange,
	type LineSpan,
	lineStarts,
	type OutputTruncation,
	omittedRanges,
} from "../engine/truncation/draft.ts";
import { type HeadTailLimits, type RefOf, type Truncation, truncateHeadTail } from "../engine/truncation/head-tail.ts";
import { truncateOutput } from "../engine/truncation/truncate.ts";
import { PalimpsestError } from "../errors.ts";
import { applySplices } from "../formats/json-text/edit.ts";
import { locateValues, pathTree } from "../formats/json-text/locate.ts";
import type { Log } from "../log.ts";
import { refusePlaceholders } from "../storage/archive/store.ts";
import { type KeepsOriginals, originalsOf } from "../storage/restore/originals.ts";
import { placeholdersOf } from "../storage/restore/recognise.ts";
import { type CountingReport, countingReport, tokenMeter } from "./count.ts";
import { textLibraries } from "./text-libraries.ts";
import {
	type CutOptions,
	cutOfCall,
	headShareOf,
	limitCheck,
	limitTooSmall,
	logTruncation,
	nameOfLimit,
	type StreamLimit,
} from "./truncation-limit.ts";

export interface TruncateReport extends CountingReport {
	readonly truncated: boolean;
	/** The requested strategy, or the one that `auto` has chosen. */
	readonly strategy: OutputTruncation["strategy"];
	readonly chars: { readonly before: number; readonly after: number };
	readonly tokens: { readonly before: number; readonly after: number };
	/** Least and most tokens of the returned text. */
	readonly band: { readonly low: number; readonly high: number };
	/** Lines of the original, and how many of them are complete in the result. */
	readonly lines: { readonly before: number; readonly kept: number };
	/** Complete lines, from 1, each range as `recall_original` takes it: "12-40". */
	readonly kept_lines: readonly string[];
	readonly omitted_lines: readonly string[];
	readonly omitted_chars: number;
	/** Half-open; null if nothing, or several ranges, or part of the `content` of a JSON object are omitted. */
	readonly omitted: { readonly start: number; readonly end: number } | null;
	readonly ref?: string;
}

interface TruncateRequest extends CutOptions, KeepsOriginals {
	readonly text: string;
	readonly policy: Policy;
	readonly log?: Log | undefined;
}

export interface TruncateOutcome {
	readonly text: string;
	readonly report: TruncateReport;
}

/** @throws PalimpsestError `invalid_argument`; `archive_unavailable` unless the policy says otherwise. */
export async function truncateText(request: TruncateRequest): Promise<TruncateOutcome> {
	return withoutLostArchive(request, async (given) => {
		const truncate = await truncaterOf(given);
		return archiveOriginal(given, await truncate(cutOfCall(given.policy, given).limit));
	});
}

/** All texts in which an outcome is shown; a reader sees one of them. */
type ShownAs = (outcome: TruncateOutcome) => readonly string[];

type ShownForm = "full" | "brief";

const mostReportShare = 0.5;

/**
 * Every text of the chosen form stays within a limit in tokens; a limit in characters is that of the text alone. The
 * form is brief if the full one needs more than half of the limit in addition to the text.
 */
export async function truncateToShow(
	request: TruncateRequest,
	shownAs: Readonly<Record<ShownForm, ShownAs>>,
): Promise<{ readonly outcome: TruncateOutcome; readonly form: ShownForm }> {
	return withoutLostArchive(request, async (given) => {
		const { limit } = cutOfCall(given.policy, given);
		const truncate = await truncaterOf(given);
		if (limit.kind !== "tokens") return { outcome: await archiveOriginal(given, await truncate(limit)), form: "full" };
		const { most } = limit;
		const { sizeOf } = await limitCheck(limit, given.policy);
		const sizeAs = (form: ShownForm) => (outcome: TruncateOutcome) => Math.max(...shownAs[form](outcome).map(sizeOf));
		for (const form of ["full", "brief"] as const) {
			const found = await largestShown(truncate, { most, sizeOf, sizeShown: sizeAs(form) });
			if (!found) continue;
			const isRoomy = sizeAs(form)(found) - sizeOf(found.text) <= most * mostReportShare;
			if (isRoomy || form === "brief") return { outcome: await archiveOriginal(given, found), form };
		}
		const smallest = [await truncate({ kind: "tokens", most: Number.MAX_SAFE_INTEGER }), await smallestOf(truncate)];
		const least = Math.min(...smallest.map(sizeAs("brief")));
		throw limitTooSmall({ name: nameOfLimit(limit, given), given: most, least });
	});
}

/** Each next try is a little smaller than in proportion, so that few are needed. `undefined` if even the smallest exceeds the limit. */
async function largestShown(
	truncate: Truncater,
	limit: {
		readonly most: number;
		readonly sizeOf: (text: string) => number;
		readonly sizeShown: (outcome: TruncateOutcome) => number;
	},
): Promise<Truncated | undefined> {
	const { most, sizeOf, sizeShown } = limit;
	let size = most;
	while (size >= 1) {
		const one = await truncate({ kind: "tokens", most: size });
		if (one.leastLimit !== undefined) break;
		const shown = sizeShown(one);
		if (shown <= most) return one;
		size = Math.floor(0.98 * (most / shown) * Math.min(size, sizeOf(one.text)));
	}
	const least = await smallestOf(truncate);
	return least.leastLimit === undefined && sizeShown(least) <= most ? least : undefined;
}

async function smallestOf(truncate: Truncater): Promise<Truncated> {
	const silent = await truncate({ kind: "tokens", most: 1 });
	return silent.leastLimit === undefined ? silent : truncate({ kind: "tokens", most: silent.leastLimit });
}

/** A truncation result before its original is archived. */
interface Truncated extends TruncateOutcome {
	readonly limit: StreamLimit;
	/** Set if the limit is too small for the notice. */
	readonly leastLimit?: number | undefined;
}

type Truncater = (limit: StreamLimit) => Promise<Truncated>;

async function truncaterOf(request: TruncateRequest): Promise<Truncater> {
	const { text, policy, archive } = request;
	if (typeof text !== "string") {
		throw new PalimpsestError("invalid_argument", `Expected \`text\` to be a string; got ${typeof text}.`);
	}
	// A truncated placeholder would no longer name its original.
	const isPlaceholder = archive !== undefined && placeholdersOf(policy)(text);
	const { meter, estimate } = await tokenMeter(policy, policy.guard.model ?? undefined);
	const tokensOf = (one: string) => scaleTokens({ tokens: meter.countTokens(one) }, estimate.scale);
	const before = tokensOf(text);
	return async (limit) => {
		const shorter = await shortenTo(isPlaceholder ? { kind: "chars", most: text.length } : limit, request);
		const { truncated, strategy, omittedChars, omitted, lines, omittedLines, leastLimit } = shorter;
		const { tokens: after, ...band } = truncated ? tokensOf(shorter.text) : before;
		const kept = linesBetween(omittedLines, lines);
		const report = {
			truncated,
			strategy,
			chars: { before: text.length, after: shorter.text.length },
			tokens: { before: before.tokens, after },
			band,
			...countingReport(estimate),
			lines: { before: lines, kept: kept.reduce((sum, { from, to }) => sum + to - from + 1, 0) },
			kept_lines: kept.map(rangeText),
			omitted_lines: omittedLines.map(rangeText),
			omitted_chars: omittedChars,
			omitted: omitted ?? null,
			...(archive && truncated ? { ref: archive.refOf(text) } : {}),
		};
		return { text: shorter.text, limit, leastLimit, report };
	};
}

async function archiveOriginal(request: TruncateRequest, truncated: Truncated): Promise<TruncateOutcome> {
	const { text, policy, archive, log } = request;
	const { text: shorter, report, limit, leastLimit } = truncated;
	if (leastLimit !== undefined) {
		const given = limit.kind === "head_tail" ? limit.maxChars : limit.most;
		throw limitTooSmall({ name: nameOfLimit(limit, request), given, least: leastLimit });
	}
	if (report.truncated) {
		if (archive) await refusePlaceholders(archive, placeholdersOf(policy)).put([{ kind: "text", text }]);
		logTruncation(log, text.length, shorter.length);
	}
	return { text: shorter, report };
}

/** Tries again without the archive if it is unavailable and the policy allows it. */
async function withoutLostArchive<Result>(
	request: TruncateRequest,
	operation: (request: TruncateRequest) => Promise<Result>,
): Promise<Result> {
	try {
		return await operation(request);
	} catch (error) {
		const isLost = error instanceof PalimpsestError && error.code === "archive_unavailable";
		if (!request.archive || !isLost || request.policy.on_archive_failure !== "mask_without_recall") throw error;
		return operation({ ...request, archive: undefined });
	}
}

async function shortenTo(limit: StreamLimit, request: TruncateRequest) {
	const { text, policy, focus, archive } = request;
	const words = wordings(policy, originalsOf(request));
	if (limit.kind === "head_tail") return headAndTail(limit.maxChars, words.truncateMarker, request);
	const { unit, countTokens } = await limitCheck(limit, policy);
	const { chars, omitted, omittedLines, lines, leastBudget, ...shorter } = truncateOutput({
		...textLibraries,
		text,
		budget: unit === "chars" ? { unit, max: limit.most } : { unit, max: limit.most, countTokens },
		strategy: cutOfCall(policy, request).strategy,
		focus,
		wording: words.notices,
		ref: archive?.refOf(text),
		headShare: headShareOf(policy),
		keepAnsi: policy.truncate.keep_ansi,
	});
	return {
		...shorter,
		omittedChars: chars.total - chars.kept,
		omitted: omitted.length === 1 ? omitted[0] : undefined,
		omittedLines,
		lines: lines.total,
		leastLimit: leastBudget,
	};
}

function headAndTail(maxChars: number, marker: string, { text, policy, archive }: TruncateRequest) {
	const { head_chars: headChars, tail_chars: tailChars, json_content } = policy.truncate;
	const limits = { maxChars, headChars, tailChars, marker };
	const inJson = json_content ? truncateJsonContent(text, limits, archive?.refOf) : undefined;
	const shorter = inJson ?? truncateHeadTail(text, limits, archive?.refOf);
	const { start, end } = shorter.truncated
		? (shorter.omitted ?? changedRange(text, shorter.text))
		: { start: text.length, end: text.length };
	const kept: CharRange[] = [];
	addRange(kept, 0, start);
	addRange(kept, end, text.length);
	const starts = lineStarts(text);
	const lines = text === "" ? 0 : starts.length - 1 - (text.endsWith("\n") ? 1 : 0);
	const { omittedLines } = omittedRanges(text, kept, starts);
	return { leastLimit: undefined, ...shorter, strategy: "head_tail" as const, omittedLines, lines };
}

function changedRange(text: string, shorter: string): CharRange {
	const most = Math.min(text.length, shorter.length);
	let start = 0;
	while (start < most && text.charCodeAt(start) === shorter.charCodeAt(start)) start += 1;
	let behind = 0;
	while (behind < most - start && text.at(-1 - behind) === shorter.at(-1 - behind)) behind += 1;
	return { start, end: text.length - behind };
}

function linesBetween(omitted: readonly LineSpan[], lines: number): LineSpan[] {
	const starts = [1, ...omitted.map(({ to }) => to + 1)];
	const ends = [...omitted.map(({ from }) => from - 1), lines];
	return starts.flatMap((from, index) => ((ends[index] ?? 0) >= from ? [{ from, to: ends[index] ?? 0 }] : []));
}

function rangeText({ from, to }: LineSpan): string {
	return `${from}-${to}`;
}

// ---- JSON with long content ----

const flag = "_truncated";

/**
 * docs/strategies.md#large-results; all but `content` stays to the byte. `undefined` for texts that are not
 * objects.
 */
function truncateJsonContent(
	text: string,
	limits: HeadTailLimits,
	refOf: RefOf = () => undefined,
): Truncation | undefined {
	if (text.length <= limits.maxChars) return undefined;
	const object = parseJsonObject(text);
	if (!object) return undefined;
	const whole = { text, truncated: false, originalChars: text.length, omittedChars: 0, omitted: undefined };
	const { content } = object;
	if (typeof content !== "string" || object[flag] === true) return whole;

	// The flag takes room too; a spelling with escapes may take more, so less text is kept until the result is shorter.
	for (let maxChars = limits.maxChars; maxChars >= 0; maxChars = Math.floor(maxChars * 0.98) - 40) {
		const cut = truncateHeadTail(content, { ...limits, maxChars }, () => refOf(text));
		if (!cut.truncated) return whole;
		if (cut.leastLimit !== undefined) return maxChars === limits.maxChars ? { ...cut, text } : whole;
		const written = write(text, cut.text, Object.hasOwn(object, flag));
		const { omittedChars } = cut;
		if (written.length < text.length) return { ...whole, text: written, truncated: true, omittedChars };
	}
	return whole;
}

function write(text: string, content: string, hasFlag: boolean): string {
	const tree = pathTree([["content"], ...(hasFlag ? [[flag]] : [])]);
	const whole = locateValues(text, 0, tree);
	const place = tree.children.get("content")?.span;
	if (!place) throw new Error("Expected `content` where it was read.");
	const isSpaced = /\s/.test(text.charAt(place.start - 1));
	const end = text.slice(0, whole.end - 1).trimEnd().length;
	const marked = tree.children.get(flag)?.span;
	const splices = [
		{ ...place, replacement: JSON.stringify(content) },
		marked
			? { ...marked, replacement: "true" }
			: { start: end, end, replacement: isSpaced ? `, "${flag}": true` : `,"${flag}":true` },
	];
	splices.sort((a, b) => a.start - b.start);
	return applySplices(text, splices);
}
