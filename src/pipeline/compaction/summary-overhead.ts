import { frameSummary } from "../../engine/compaction/summary-frame.ts";
import type { TokenMeter } from "../../engine/measure.ts";
import type { LocaleName } from "../../policy/names.ts";

/** Longest reference in a frame, so that what a frame costs is known before there is one. */
const anyRef = "0".repeat(20);

/** Tokens that are put in beside a summary: its frame and its message's overhead. */
export function summaryOverhead(locale: LocaleName, { countTokens, messageOverhead }: TokenMeter): number {
	return countTokens(frameSummary({ summary: "", locale, ref: anyRef })) + messageOverhead;
}

/** A hand-over with a few words under each of its six headings takes as many tokens. */
const leastSummary = 50;

/** Whether so few tokens stand in a range that a summary would not be shorter: then nobody is asked for one. */
export function isTooShortToSummarise(rangeTokens: number, locale: LocaleName, meter: TokenMeter): boolean {
	return rangeTokens <= summaryOverhead(locale, meter) + leastSummary;
}
