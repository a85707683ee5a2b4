import { truncateHeadTail } from "../engine/truncate/head-tail.ts";
import { lineStarts, omittedRanges } from "../engine/truncate/kept-ranges.ts";
import { truncateOutput } from "../engine/truncate/truncate-output.ts";
import type { LineSpan, OutputTruncation } from "../engine/truncate/truncation-types.ts";
import { textLibraries } from "../operations/text-libraries.ts";
import type { Policy } from "../policy/schema.ts";
import { type Originals, wordings } from "../policy/wordings.ts";
import type { Cut } from "./cut-of-call.ts";
import { charsCheck, limitCheck } from "./stream/limit-check.ts";
import { truncateJsonContent } from "./truncate-json-content.ts";

/** A text that was cut, and what of it is left. */
export interface CutText {
	readonly text: string;
	readonly truncated: boolean;
	/** The strategy that was used; never `auto`. */
	readonly strategy: OutputTruncation["strategy"];
	/** Characters of the original that the text no longer holds. */
	readonly omittedChars: number;
	/** The part left out where it is one, as a half-open range of characters. */
	readonly omitted: { readonly start: number; readonly end: number } | undefined;
	/** Only where the limit leaves no room to say that something is left out: the least limit that does. */
	readonly leastLimit?: number | undefined;
	/** Lines of which something is left out, in order. */
	readonly omittedLines: readonly LineSpan[];
	readonly lines: number;
}

/** Cuts a text as a call has it; what is within the limit stays as it is. */
export async function cutText(what: {
	readonly text: string;
	readonly policy: Policy;
	readonly cut: Cut;
	readonly focus?: string | undefined;
	readonly originals: Originals;
	/** The reference under which a text is archived. */
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
		headShare: headChars + tailChars === 0 ? undefined : headChars / (headChars + tailChars),
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

type Range = NonNullable<CutText["omitted"]>;

/** Where a text differs from what was made of it. */
function changedRange(text: string, shorter: string): Range {
	const most = Math.min(text.length, shorter.length);
	let start = 0;
	while (start < most && text.charCodeAt(start) === shorter.charCodeAt(start)) start += 1;
	let behind = 0;
	while (behind < most - start && text.at(-1 - behind) === shorter.at(-1 - behind)) behind += 1;
	return { start, end: text.length - behind };
}

function linesOf(text: string, left: Range | undefined): Pick<CutText, "omittedLines" | "lines"> {
	const starts = lineStarts(text);
	const lines = text === "" ? 0 : starts.length - 1 - (text.endsWith("\n") ? 1 : 0);
	if (left === undefined) return { omittedLines: [], lines };
	const kept = [
		{ start: 0, end: left.start },
		{ start: left.end, end: text.length },
	].filter(({ start, end }) => end > start);
	return { omittedLines: omittedRanges(text, kept, starts).omittedLines, lines };
}
