import { refusePlaceholders } from "../archive/store.ts";
import { scaleTokens } from "../conversation/measure.ts";
import { PalimpsestError } from "../errors.ts";
import type { Policy } from "../policy/schema.ts";
import { type Originals, wordings } from "../policy/wordings.ts";
import {
	addRange,
	type CharRange,
	type LineSpan,
	lineStarts,
	type OutputTruncation,
	omittedRanges,
} from "../truncation/draft.ts";
import { truncateHeadTail } from "../truncation/head-tail.ts";
import { truncateOutput } from "../truncation/truncate.ts";
import { type CountingReport, countingReport, tokenMeter } from "./count.ts";
import type { Log } from "./edit-record.ts";
import { placeholdersOf } from "./find-original.ts";
import { type KeepsOriginals, originalsOf } from "./originals.ts";
import { textLibraries } from "./text-libraries.ts";
import { truncateJsonContent } from "./truncate-json-content.ts";
import {
	type Cut,
	type CutOptions,
	charsCheck,
	cutOfCall,
	headShareOf,
	limitCheck,
	limitTooSmall,
	logTruncation,
	nameOfLimit,
	type StreamLimit,
} from "./truncation-limit.ts";

/** What a truncation did. Characters are UTF-16 code units. */
export interface TruncateReport extends CountingReport {
	readonly truncated: boolean;
	/** How the text was cut: what `auto` has chosen, or what was asked for. */
	readonly strategy: CutText["strategy"];
	readonly chars: { readonly before: number; readonly after: number };
	readonly tokens: { readonly before: number; readonly after: number };
	/** Least and most tokens of the text as it is answered. */
	readonly band: { readonly low: number; readonly high: number };
	/** Lines of the original, and how many of them are kept whole. */
	readonly lines: { readonly before: number; readonly kept: number };
	/** Lines that are kept whole, from 1, each range as `recall_original` takes it: "12-40". */
	readonly kept_lines: readonly string[];
	readonly omitted_lines: readonly string[];
	readonly omitted_chars: number;
	/**
	 * Half-open range of the original that was left out; null where nothing was, or several, and of the `content` of a JSON
	 * object.
	 */
	readonly omitted: { readonly start: number; readonly end: number } | null;
	/** Where the whole text is archived; only with an archive, and where it was cut. */
	readonly ref?: string;
}

interface TruncateRequest extends CutOptions, KeepsOriginals {
	readonly text: string;
	readonly policy: Policy;
	readonly log?: Log;
}

export interface TruncateOutcome {
	readonly text: string;
	readonly report: TruncateReport;
}

/**
 * Cuts one large text: to its head and tail, or by a strategy to what matters in it.
 *
 * @throws PalimpsestError `invalid_argument` where `text` is no string, a limit no whole number or too small for the note on
 * what is left out, or both limits are given; `archive_unavailable` where the whole cannot be kept, unless the policy says
 * otherwise.
 */
export async function truncateText(request: TruncateRequest): Promise<TruncateOutcome> {
	return withoutLostArchive(request, async (given) => {
		const cut = await cutter(given);
		const { limit } = cutOfCall(given.policy, given);
		return keepWhole(given, await cut(limit));
	});
}

/** All texts in which an outcome is shown, of which a reader sees one or another. */
type ShownAs = (outcome: TruncateOutcome) => readonly string[];

/**
 * Cuts one large text so that all that is shown of the outcome stays within a limit in tokens, whichever of its forms a
 * reader sees. Of several ways to show it, the fullest first, it takes the first that needs no more than half of the limit
 * beside the text. A limit in characters is that of the text alone.
 *
 * @throws PalimpsestError as `truncateText` does.
 */
export async function truncateToShow(
	request: TruncateRequest,
	ways: readonly ShownAs[],
): Promise<{ readonly outcome: TruncateOutcome; readonly way: number }> {
	return withoutLostArchive(request, async (given) => {
		const asked = cutOfCall(given.policy, given);
		const cut = await cutter(given);
		if (asked.limit.kind !== "tokens") return { outcome: await keepWhole(given, await cut(asked.limit)), way: 0 };
		const { most } = asked.limit;
		const { sizeOf } = await limitCheck(asked.limit, given.policy);
		for (const [way, shownAs] of ways.entries()) {
			const sizeShown = (outcome: TruncateOutcome) => Math.max(...shownAs(outcome).map(sizeOf));
			const made = await largestShown(cut, { most, sizeShown });
			const isRoomy = made && sizeShown(made) - sizeOf(made.text) <= most * mostReportShare;
			if (made && (isRoomy || way === ways.length - 1)) return { outcome: await keepWhole(given, made), way };
		}
		const briefest = ways.at(-1) as ShownAs;
		const smallest = [await cut({ kind: "tokens", most: Number.MAX_SAFE_INTEGER }), await leastCut(cut)];
		const least = Math.min(...smallest.map((one) => Math.max(...briefest(one).map(sizeOf))));
		throw limitTooSmall({ name: nameOfLimit(asked, given), given: most, least });
	});
}

/** Share of a limit that all but the text may take, where there is a briefer way to show it. */
const mostReportShare = 0.5;
/** Cuts that are tried at most to come near a limit, and the share of it from which on one is near enough. */
const [mostTries, near] = [8, 0.97];

/** The cut of which all that is shown comes nearest to a limit; `undefined` where not even the least one is within it. */
async function largestShown(
	cut: Cutter,
	{ most, sizeShown }: { readonly most: number; readonly sizeShown: (outcome: TruncateOutcome) => number },
): Promise<CutOutcome | undefined> {
	let best: CutOutcome | undefined;
	let [low, high] = [0, most + 1];
	for (let tried = 0, size = most; tried < mostTries && size > low && size < high; tried += 1) {
		const made = await cut({ kind: "tokens", most: size });
		const shown = made.leastLimit === undefined ? sizeShown(made) : Number.POSITIVE_INFINITY;
		if (made.leastLimit !== undefined) low = size;
		else if (shown <= most) {
			best = made;
			low = size;
			if (shown >= most * near || !made.report.truncated) break;
		} else high = size;
		// A token more of the text is at least one more of what is shown.
		const next = Number.isFinite(shown) ? size - (shown - most) : Number.NaN;
		size = next > low && next < high ? next : Math.floor((low + high) / 2);
	}
	if (best) return best;
	const least = await leastCut(cut);
	return least.leastLimit === undefined && sizeShown(least) <= most ? least : undefined;
}

async function leastCut(cut: Cutter): Promise<CutOutcome> {
	const silent = await cut({ kind: "tokens", most: 1 });
	return silent.leastLimit === undefined ? silent : cut({ kind: "tokens", most: silent.leastLimit });
}

/** What came of one cut, before its whole is kept. */
interface CutOutcome extends TruncateOutcome {
	readonly limit: StreamLimit;
	readonly leastLimit?: number | undefined;
}

type Cutter = (limit: StreamLimit) => Promise<CutOutcome>;

/** Cuts the text of a request to one limit or another, as the request asks for otherwise. */
async function cutter(request: TruncateRequest): Promise<Cutter> {
	const { text, policy, focus, archive } = request;
	if (typeof text !== "string") {
		throw new PalimpsestError("invalid_argument", `Expected \`text\` to be a string; got ${typeof text}.`);
	}
	const { strategy } = cutOfCall(policy, request);
	// A placeholder that is cut would no longer name what it stands for.
	const isKept = archive !== undefined && placeholdersOf(policy)(text);
	const originals = originalsOf(request);
	const { meter, estimate } = await tokenMeter(policy, policy.guard.model ?? undefined);
	const tokensOf = (one: string) => scaleTokens({ tokens: meter.countTokens(one) }, estimate.scale);
	const before = tokensOf(text);
	return async (limit) => {
		const how = isKept ? cutOfCall(policy, { maxChars: text.length, strategy }) : { limit, strategy };
		const cut = await cutText({ text, policy, cut: how, focus, originals, refOf: archive?.refOf });
		const { tokens: after, ...band } = cut.truncated ? tokensOf(cut.text) : before;
		return {
			text: cut.text,
			limit,
			leastLimit: cut.leastLimit,
			report: {
				truncated: cut.truncated,
				strategy: cut.strategy,
				chars: { before: text.length, after: cut.text.length },
				tokens: { before: before.tokens, after },
				band,
				...countingReport(estimate),
				...linesReport(cut),
				omitted_chars: cut.omittedChars,
				omitted: cut.omitted ?? null,
				...(archive && cut.truncated ? { ref: archive.refOf(text) } : {}),
			},
		};
	};
}

/** Keeps the whole of a text that was cut, before anybody sees what is left of it. */
async function keepWhole(
	request: TruncateRequest,
	{ text: shorter, report, limit, leastLimit }: CutOutcome,
): Promise<TruncateOutcome> {
	const { text, policy, archive, log } = request;
	if (leastLimit !== undefined) {
		const given = limit.kind === "head_tail" ? limit.maxChars : limit.most;
		throw limitTooSmall({ name: nameOfLimit({ limit }, request), given, least: leastLimit });
	}
	if (report.truncated) {
		if (archive) await refusePlaceholders(archive, placeholdersOf(policy)).put([{ kind: "text", text }]);
		logTruncation(log, text.length, shorter.length);
	}
	return { text: shorter, report };
}

/** Does something with a request, and where the whole cannot be archived and the policy allows it, again without. */
async function withoutLostArchive<Result>(
	request: TruncateRequest,
	once: (request: TruncateRequest) => Promise<Result>,
): Promise<Result> {
	try {
		return await once(request);
	} catch (error) {
		const isLost = error instanceof PalimpsestError && error.code === "archive_unavailable";
		if (!request.archive || !isLost || request.policy.on_archive_failure !== "mask_without_recall") throw error;
		return once({ ...request, archive: undefined });
	}
}

function linesReport({ lines, omittedLines }: CutText): Pick<TruncateReport, "lines" | "kept_lines" | "omitted_lines"> {
	const kept: LineSpan[] = [];
	let next = 1;
	for (const { from, to } of omittedLines) {
		if (from > next) kept.push({ from: next, to: from - 1 });
		next = to + 1;
	}
	if (next <= lines) kept.push({ from: next, to: lines });
	return {
		lines: { before: lines, kept: kept.reduce((sum, { from, to }) => sum + to - from + 1, 0) },
		kept_lines: kept.map(({ from, to }) => `${from}-${to}`),
		omitted_lines: omittedLines.map(({ from, to }) => `${from}-${to}`),
	};
}

interface CutText {
	readonly text: string;
	readonly truncated: boolean;
	readonly strategy: OutputTruncation["strategy"];
	readonly omittedChars: number;
	readonly omitted: CharRange | undefined;
	readonly leastLimit?: number | undefined;
	readonly omittedLines: readonly LineSpan[];
	readonly lines: number;
}

/** Cuts a text as a call has it; what is within the limit stays as it is. */
async function cutText(what: {
	readonly text: string;
	readonly policy: Policy;
	readonly cut: Cut;
	readonly focus?: string | undefined;
	readonly originals: Originals;
	readonly refOf?: ((text: string) => string) | undefined;
}): Promise<CutText> {
	const { text, policy, cut, focus, originals, refOf } = what;
	const { head_chars: headChars, tail_chars: tailChars, keep_ansi: keepAnsi, json_content } = policy.truncate;
	const words = wordings(policy, originals);
	if (cut.limit.kind === "head_tail") {
		const limits = { maxChars: cut.limit.maxChars, headChars, tailChars, marker: words.truncateMarker };
		const inJson = json_content ? truncateJsonContent(text, limits, refOf) : undefined;
		const shorter = inJson ?? truncateHeadTail(text, limits, refOf);
		const { truncated, omittedChars, omitted, leastLimit } = shorter;
		const left = truncated ? (omitted ?? changedRange(text, shorter.text)) : undefined;
		return {
			text: shorter.text,
			truncated,
			strategy: "head_tail",
			omittedChars,
			omitted,
			leastLimit,
			...linesOf(text, left),
		};
	}
	const { most } = cut.limit;
	const check = cut.limit.kind === "chars" ? charsCheck(most) : await limitCheck(cut.limit, policy);
	const strategy = cut.strategy === "auto" ? "head_tail" : cut.strategy;
	if (check.fits(text)) {
		return { text, truncated: false, strategy, omittedChars: 0, omitted: undefined, ...linesOf(text, undefined) };
	}
	const shorter = truncateOutput({
		...textLibraries,
		text,
		budget: check.unit === "chars" ? { unit: "chars", max: most } : { ...check, unit: "tokens", max: most },
		strategy: cut.strategy,
		focus,
		wording: words.notices,
		ref: refOf?.(text),
		headShare: headShareOf(policy),
		keepAnsi,
	});
	const { truncated, chars, omitted, omittedLines, lines } = shorter;
	return {
		text: shorter.text,
		truncated,
		strategy: shorter.strategy,
		omittedChars: chars.total - chars.kept,
		omitted: omitted.length === 1 ? omitted[0] : undefined,
		leastLimit: shorter.leastBudget,
		omittedLines,
		lines: lines.total,
	};
}

/** Where a text differs from what was made of it. */
function changedRange(text: string, shorter: string): CharRange {
	const most = Math.min(text.length, shorter.length);
	let start = 0;
	while (start < most && text.charCodeAt(start) === shorter.charCodeAt(start)) start += 1;
	let behind = 0;
	while (behind < most - start && text.at(-1 - behind) === shorter.at(-1 - behind)) behind += 1;
	return { start, end: text.length - behind };
}

function linesOf(text: string, left: CharRange | undefined): Pick<CutText, "omittedLines" | "lines"> {
	const starts = lineStarts(text);
	const lines = text === "" ? 0 : starts.length - 1 - (text.endsWith("\n") ? 1 : 0);
	if (left === undefined) return { omittedLines: [], lines };
	const kept: CharRange[] = [];
	addRange(kept, 0, left.start);
	addRange(kept, left.end, text.length);
	return { omittedLines: omittedRanges(text, kept, starts).omittedLines, lines };
}
