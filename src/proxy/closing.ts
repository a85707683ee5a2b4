import type { Pointing } from "../hosts/host.ts";
import { unaskedText } from "../pages/live-data.ts";
import { counted, formatCount } from "../pages/replay-data.ts";
import type { ProxyTotals } from "./ledger.ts";
import { frozenText, keptWarmText, undecidedText, unknownUsageText } from "./ledger-text.ts";

/** A program that `launch` has started. */
interface Launched {
	readonly name: string;
	readonly title: string;
	/** The upstreams that it would use without us. */
	readonly upstreams: Pointing["upstreams"];
}

/** The last line of a proxy: what passed it, or that nothing did. Its pages have ended by then. */
export function closingText(
	totals: ProxyTotals,
	{ address, program }: { readonly address: string; readonly program?: Launched | undefined },
): string {
	if (totals.asked === 0) return `no request passed the proxy at ${address}: ${whyNone(address, program)}`;
	return (totals.requests === 0 ? unedited(totals) : figures(totals)).join(", ");
}

function whyNone(address: string, program: Launched | undefined): string {
	if (!program)
		return `no program was pointed at it. Start one with \`palimpsest launch\`, or set its base URL to ${address}`;
	const own = Object.values(program.upstreams).join(" or ");
	return `${program.title} sent none, or sent them to ${own} or another address of its settings directly. \`palimpsest launch --dry-run ${program.name}\` shows how it is pointed at the proxy`;
}

function unedited(totals: ProxyTotals): string[] {
	if (totals.failed === totals.asked) {
		const all = totals.asked === 1 ? "the only request" : `all ${counted(totals.asked, "request")}`;
		return [`${all} failed: the upstream gave no good answer`, ...reservations({ ...totals, failed: 0 })];
	}
	return [`${counted(totals.asked, "request")} passed, none with a conversation`, ...reservations(totals)];
}

function figures(totals: ProxyTotals): string[] {
	const { requests, tokensSent, tokensLeftOut, billed, billedUnedited, untoldRequests, untoldBilled, keptWarm } =
		totals;
	// Pings that keep a cache warm are a cost of ours.
	const ratio = billedUnedited > 0 ? (billed - untoldBilled + keptWarm.billed) / billedUnedited : 1;
	return [
		counted(requests, "request"),
		`${formatCount(tokensSent)} tokens sent`,
		`${formatCount(tokensLeftOut)} left out`,
		...(untoldRequests > 0 && untoldRequests === requests ? [] : [`billed ${ratio.toFixed(2)} × raw`]),
		...(untoldRequests > 0 ? [`${counted(untoldRequests, "request")} without a known unedited bill`] : []),
		...reservations(totals),
	];
}

/** What kept the figures from being better. */
function reservations(totals: ProxyTotals): string[] {
	const { uncachedRequests, estimated, cut, threads, unread, failed, undecided, frozen, keptWarm, unasked } = totals;
	return [
		...(estimated > 0
			? [`${counted(estimated, "request")} estimated, without a saving: the upstream reports no usage`]
			: []),
		...(cut > 0 ? [`${counted(cut, "answer")} cut before the output was told`] : []),
		...unknownUsageText({ requests: totals.unknownUsage, fields: totals.unknownFields }),
		...(uncachedRequests > 0
			? [`${formatCount(uncachedRequests)} without a cache: the upstream reports no cached tokens`]
			: []),
		...(unasked.requests > 0 ? [unaskedText(unasked)] : []),
		...(threads > 0 ? [`${counted(threads, "thread")} of new messages alone, which cannot be edited`] : []),
		...(unread > 0 ? [`${counted(unread, "request")} in an encoding that cannot be read`] : []),
		...(failed > 0 ? [`${counted(failed, "request")} without a good answer of the upstream`] : []),
		...undecidedText(undecided),
		...frozenText(frozen),
		...keptWarmText(keptWarm),
	];
}
