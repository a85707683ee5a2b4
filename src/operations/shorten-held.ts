import { fillTemplate } from "../masking/template.ts";
import type { LocaleName } from "../policy/names.ts";
import { excerptWordings, locales, type NoticeWordings } from "../policy/wordings.ts";
import type { TruncationBudget, TruncationStrategy } from "../truncation/draft.ts";
import { focusOfCall } from "../truncation/focus.ts";
import { truncateOutput } from "../truncation/truncate.ts";
import { textLibraries } from "./text-libraries.ts";
import { type LimitCheck, limitTooSmall } from "./truncation-limit.ts";

export interface HeldShortening {
	readonly strategy?: TruncationStrategy | undefined;
	/** What it is looked through for; by default what the call was after. */
	readonly focus?: string | undefined;
	readonly keepAnsi?: boolean | undefined;
	/** Share of the start in what `head_tail` keeps. */
	readonly headShare?: number | undefined;
	/** Given as `undefined`, pages are cut as text: for who cannot wait for the library that reads them. */
	readonly htmlToText?: undefined;
}

/** Shortens an output that is held, by its structure and by what the call was after. */
export function shortenHeld(what: {
	readonly text: string;
	readonly check: LimitCheck;
	readonly locale: LocaleName;
	readonly kept: KeptOutput | undefined;
	readonly ending: RunEnding | undefined;
	readonly input?: unknown;
	readonly how?: HeldShortening | undefined;
	/** How the limit is called: one that is too small to say that something is left out is then refused. */
	readonly limitName?: string | undefined;
}): string {
	const { text, check, locale, kept, ending, input, how, limitName } = what;
	const { text: shorter, leastBudget: least } = truncateOutput({
		...textLibraries,
		...how,
		text,
		budget: budgetOf(check),
		strategy: how?.strategy ?? "auto",
		focus: how?.focus ?? focusOfCall({ input }),
		hasFailed: hasFailed(ending),
		wording: wordingOf(locale, kept, ending),
		ref: kept?.ref,
	});
	if (limitName !== undefined && least !== undefined)
		throw limitTooSmall({ name: limitName, given: check.most, least });
	return shorter;
}

export function budgetOf({ unit, most, countTokens }: LimitCheck): TruncationBudget {
	return unit === "tokens" ? { unit, max: most, countTokens } : { unit, max: most };
}

/** The words of a strategy's notices, with how the command ended and how the whole is read. */
export function wordingOf(
	locale: LocaleName,
	kept: KeptOutput | undefined,
	ending: RunEnding | undefined,
): NoticeWordings {
	const { notices } = locales[locale];
	const before = ending === undefined ? "[" : `[${endingNotice(locale, ending)} `;
	const stop = locale === "zh" ? "。" : ".";
	const behind = `${kept === undefined ? "" : stop}${recallNotice(locale, kept)}`;
	const changed = (notice: string) => `${before}${notice.slice(1, -1)}${behind}`;
	const [notice, whole, html] = [changed(notices.notice), changed(notices.whole), changed(notices.html)];
	const short = `${before}${notices.short.slice(1)}`;
	return {
		...notices,
		notice,
		archived: notice,
		whole,
		wholeArchived: whole,
		html,
		htmlArchived: html,
		short,
		// It stands where not even the reference has room.
		shortArchived: short,
	};
}

export interface RunEnding {
	/** As a shell tells it: of a command that a signal ended, 128 and the signal's number. */
	readonly exitCode: number;
	readonly signal?: string | undefined;
	/** How long it took, in ms. */
	readonly durationMs: number;
}

export function hasFailed(ending: RunEnding | undefined): boolean {
	return ending !== undefined && ending.exitCode !== 0;
}

/** Where the whole of an output is archived, or its beginning. */
export interface KeptOutput {
	readonly ref: string;
	/** Bytes of its beginning that are kept; `undefined` where all are. */
	readonly firstBytes?: number | undefined;
	/** Characters that are kept of an output that a host had cut before it came; `undefined` where none had. */
	readonly receivedChars?: number | undefined;
	/** How a shell calls this program; by default by its name. */
	readonly command?: string | undefined;
}

/** The longest short notice of a command that was run: no limit below it can say that something is left out. */
export function longestShortNotice(locale: LocaleName): string {
	const ending = { exitCode: 143, signal: "SIGTERM", durationMs: 1e8 };
	const notice = fillTemplate(wordingOf(locale, undefined, ending).short, { omitted_chars: 1e12 });
	// JSON stays JSON.
	return JSON.stringify({ _truncated: notice });
}

/** How to read what is archived; where nothing is, the bracket that closes the notice. */
export function recallNotice(locale: LocaleName, kept: KeptOutput | undefined): string {
	if (kept === undefined) return "]";
	const { recall, recallPart, recallReceived } = excerptWordings[locale];
	const { ref, firstBytes, receivedChars, command = "palimpsest" } = kept;
	if (receivedChars !== undefined) return fillTemplate(recallReceived, { command, ref, received_chars: receivedChars });
	if (firstBytes !== undefined) return fillTemplate(recallPart, { command, ref, kept_bytes: firstBytes });
	return fillTemplate(recall, { command, ref });
}

/** How a command ended and when, as a sentence. */
export function endingNotice(locale: LocaleName, { exitCode, signal, durationMs }: RunEnding): string {
	const { ending, exitCode: ofCode, signal: ofSignal } = excerptWordings[locale];
	const how = fillTemplate(signal === undefined ? ofCode : ofSignal, { code: exitCode, signal: signal ?? "" });
	return fillTemplate(ending, { ending: how, seconds: (durationMs / 1000).toFixed(1) });
}
