import { focusOfCall } from "../../engine/call-focus.ts";
import { composeExcerpt } from "../../engine/stream/compose-excerpt.ts";
import { truncateOutput } from "../../engine/truncate/truncate-output.ts";
import type { TruncationBudget, TruncationStrategy } from "../../engine/truncate/truncation-types.ts";
import { textLibraries } from "../../operations/text-libraries.ts";
import type { LocaleName } from "../../policy/names.ts";
import { locales, type NoticeWordings } from "../../policy/wordings.ts";
import { limitTooSmall } from "../cut-of-call.ts";
import {
	endingNotice,
	excerptNotices,
	hasFailed,
	type KeptOutput,
	type RunEnding,
	recallNotice,
} from "./excerpt-notices.ts";
import type { LimitCheck } from "./limit-check.ts";
import { readOutput } from "./read-output.ts";

/** How an output that is held is shortened. */
export interface HeldShortening {
	/** By default `auto`. */
	readonly strategy?: TruncationStrategy | undefined;
	/** What it is looked through for; by default what the call was after. */
	readonly focus?: string | undefined;
	/** Whether escape sequences of terminals stay. */
	readonly keepAnsi?: boolean | undefined;
	/** Share of the start in what `head_tail` keeps. */
	readonly headShare?: number | undefined;
	/** Given as `undefined`, pages are cut as text: for who cannot wait for the library that reads them. */
	readonly htmlToText?: undefined;
}

/**
 * Shortens an output that is held, by its structure and by what the call was after. What does not come out within the
 * limit is shortened as a stream is.
 */
export function shortenHeld(what: {
	readonly text: string;
	readonly check: LimitCheck;
	readonly locale: LocaleName;
	readonly kept: KeptOutput | undefined;
	readonly ending: RunEnding | undefined;
	/** The arguments of the call. */
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
	if (shorter !== "" && shorter.length < text.length && check.fits(shorter)) return shorter;
	const reader = readOutput(check.mostChars);
	reader.push(text);
	const source = { ...reader.source(), hasFailed: hasFailed(ending) };
	return composeExcerpt(source, excerptNotices({ locale, kept, ending }), check.fits).text;
}

function budgetOf({ unit, most, countTokens }: LimitCheck): TruncationBudget {
	return unit === "tokens" ? { unit, max: most, countTokens } : { unit, max: most };
}

/** The words of a strategy's notices, with how the command ended and how the whole is read. */
function wordingOf(locale: LocaleName, kept: KeptOutput | undefined, ending: RunEnding | undefined): NoticeWordings {
	const { notices } = locales[locale];
	const before = ending === undefined ? "[" : `[${endingNotice(locale, ending)} `;
	const stop = locale === "zh" ? "。" : ".";
	const changed = (notice: string) =>
		`${before}${notice.slice(1, -1)}${kept === undefined ? "" : stop}${recallNotice(locale, kept)}`;
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
