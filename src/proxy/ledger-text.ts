import { reasonName } from "../pages/live-data.ts";
import { counted, formatCount } from "../pages/replay-data.ts";
import type { ProxyStatus } from "./status.ts";
import type { KeptWarm, ProxyTotals, Undecided } from "./totals.ts";

/** The bill and the unedited bill, for people. */
export function billText(figures: ProxyStatus["edited"]): string {
	const { billed, billed_unedited: unedited, ratio, untold_requests: untold, uncached_requests: uncached } = figures;
	const { provider_cleared_tokens: cleared, estimated_requests: estimated, cut_requests: cut } = figures;
	return [
		formatCount(billed),
		unedited === null || unedited === 0 ? "" : ` of ${formatCount(unedited)} (${ratio} ×)`,
		untold === 0 ? "" : `; for ${formatCount(untold)} requests the unedited bill is unknown`,
		uncached === 0
			? ""
			: `; ${formatCount(uncached)} requests priced without a cache, since the upstream reports no cached tokens`,
		estimated === 0 ? "" : `; ${counted(estimated, "request")} estimated, since the answers report no usage`,
		cut === 0 ? "" : `; the output of ${counted(cut, "request")} is unknown, since the answers were cut`,
		cleared === 0 ? "" : `; the provider cleared ${formatCount(cleared)} tokens, counted in each request`,
	].join("");
}

/** How many conversations were frozen; empty if none. */
export function frozenText(count: number): string[] {
	if (count === 0) return [];
	return [`${counted(count, "conversation")} frozen for a while after a refusal`];
}

/** The pings and their bill; empty if there were none. */
export function keptWarmText({ pings, billed, failed }: KeptWarm): string[] {
	if (pings + failed === 0) return [];
	const failures = failed > 0 ? `, ${failed} failed` : "";
	return [`${counted(pings, "ping")} kept caches warm (billed ${formatCount(billed)}${failures})`];
}

/** What could not be read of the answers, beside the requests that are estimated; empty if all could be. */
export function unknownUsageText({
	requests,
	fields,
}: {
	readonly requests: number;
	readonly fields: readonly string[];
}) {
	return [
		...(requests > 0 ? [`${counted(requests, "request")} of unknown usage, in no figure`] : []),
		...(fields.length > 0 ? [`counts of tokens that are not known, in no figure: ${fields.join(", ")}`] : []),
	];
}

/** How many requests got no new decisions, and why; empty if none. */
export function undecidedText(undecided: ProxyTotals["undecided"]): string[] {
	const entries = Object.entries(undecided) as [Undecided, number][];
	if (entries.length === 0) return [];
	const sum = entries.reduce((total, [, count]) => total + count, 0);
	const why = entries.map(([reason, count]) => `${reasonName(reason)}: ${count}`).join(", ");
	return [`${counted(sum, "request")} without new decisions (${why})`];
}
