import { stripVTControlCharacters } from "node:util";
import { composeExcerpt } from "../../engine/stream/compose-excerpt.ts";
import { noticeWordings } from "../../engine/truncate/notice-wordings.ts";
import { truncateOutput } from "../../engine/truncate/truncate-output.ts";
import type { TruncationBudget } from "../../engine/truncate/truncation-types.ts";
import type { LocaleName } from "../../policy/schema.ts";
import { endingNotice, excerptNotices, type KeptOutput, type RunEnding, recallNotice } from "./excerpt-notices.ts";
import type { LimitCheck } from "./limit-check.ts";
import { readOutput } from "./read-output.ts";

/**
 * Shortens an output that is held, by its structure and by what the call was after; the one place where a strategy is
 * chosen. What does not come out within the limit is shortened as a stream is.
 */
export function shortenHeld(what: {
	readonly text: string;
	readonly check: LimitCheck;
	readonly locale: LocaleName;
	readonly kept: KeptOutput | undefined;
	readonly ending: RunEnding | undefined;
	/** The arguments of the call. */
	readonly input?: unknown;
}): string {
	const { text, check, locale, kept, ending, input } = what;
	const { text: shorter } = truncateOutput({
		text,
		budget: budgetOf(check),
		strategy: "auto",
		focus: focusOf(input),
		wording: wordingOf(locale, kept, ending),
		ref: kept?.ref,
		stripAnsi: stripVTControlCharacters,
	});
	if (shorter !== "" && shorter.length < text.length && check.fits(shorter)) return shorter;
	const reader = readOutput(check.mostChars);
	reader.push(text);
	return composeExcerpt(reader.source(), excerptNotices({ locale, kept, ending }), check.fits).text;
}

function budgetOf({ unit, most, countTokens }: LimitCheck): TruncationBudget {
	return unit === "tokens" ? { unit, max: most, countTokens } : { unit, max: most };
}

/** The words of a strategy's notices, with how the command ended and how the whole is read. */
function wordingOf(locale: LocaleName, kept: KeptOutput | undefined, ending: RunEnding | undefined) {
	const words = noticeWordings[locale];
	const before = ending === undefined ? "[" : `[${endingNotice(locale, ending)} `;
	const stop = locale === "zh" ? "。" : ".";
	const changed = (notice: string) =>
		`${before}${notice.slice(1, -1)}${kept === undefined ? "" : stop}${recallNotice(locale, kept)}`;
	const [lines, whole] = [changed(words.notice), changed(words.whole)];
	const short = `${before}${words.short.slice(1)}`;
	return { ...words, notice: lines, archived: lines, whole, wholeArchived: whole, short };
}

const mostFocus = 4_000;

/** What a call was after: the texts among its arguments. */
function focusOf(input: unknown): string {
	if (typeof input === "string") return input.slice(0, mostFocus);
	if (typeof input !== "object" || input === null) return "";
	const texts = Object.values(input).filter((value) => typeof value === "string");
	return texts.join("\n").slice(0, mostFocus);
}
