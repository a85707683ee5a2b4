import { formatDollars, formatPercent, unaskedText } from "../pages/live-data.ts";
import { counted, formatCount } from "../pages/replay-data.ts";
import { frozenText, keptWarmText, undecidedText, unknownUsageText } from "./ledger-text.ts";
import type { Failure, ProxyTotals } from "./totals.ts";

/** A program that `launch` has started. */
interface Launched {
	readonly name: string;
	readonly title: string;
	/** The upstream of each API that it would use without us. */
	readonly upstreams: Readonly<Partial<Record<string, string>>>;
}

interface Closing {
	readonly address: string;
	readonly program?: Launched | undefined;
	/** Whether the figures outlive the proxy, so that `stats` has them. */
	readonly isKept: boolean;
}

/** The last line of a proxy: what it saved, or why nothing. Its pages have ended by then. */
export function closingText(totals: ProxyTotals, { address, program, isKept }: Closing): string {
	if (totals.asked === 0) return `no request passed the proxy at ${address}: ${whyNone(address, program)}`;
	if (totals.requests === 0) return unedited(totals).join(", ");
	const tokens = [`${formatCount(totals.tokensSent)} tokens sent`, `${formatCount(totals.tokensLeftOut)} left out`];
	const text = [savingText(totals), ...tokens, ...reservations(totals)].join(", ");
	return isKept ? `${text}; see palimpsest stats` : text;
}

function whyNone(address: string, program: Launched | undefined): string {
	if (!program)
		return `no program was pointed at it. Start one with \`palimpsest launch\`, or set its base URL to ${address}`;
	const own = Object.values(program.upstreams).join(" or ");
	return `${program.title} sent none, or sent them to ${own} or another address of its settings directly. \`palimpsest launch --dry-run ${program.name}\` shows how it is pointed at the proxy`;
}

function unedited(totals: ProxyTotals): string[] {
	if (totals.failed < totals.asked)
		return [`${counted(totals.asked, "request")} passed, none with a conversation`, ...reservations(totals)];
	const all = totals.asked === 1 ? "the only request" : `all ${counted(totals.asked, "request")}`;
	return [`${all} failed: ${failureText(totals.failure)}`, ...reservations({ ...totals, failed: 0 })];
}

function failureText(failure: Failure | undefined): string {
	if (!failure) return "the upstream gave no good answer";
	const { address } = failure;
	if (failure.kind === "refused")
		return failure.status < 300
			? `${address} answered with an error in its stream`
			: `${address} answered ${failure.status}`;
	const { code } = failure;
	return `${address} ${/^E(?:CONN|TIMEDOUT)/.test(code) ? "does not answer" : "cannot be reached"} (${code})`;
}

/** In dollars where the prices are known, else as a share of the input bill. Pings that keep a cache warm are a cost of ours. */
function savingText(totals: ProxyTotals): string {
	const { requests, tokensLeftOut, untoldRequests, usdUntoldRequests, unpricedRequests, usd, usdSaved, keptWarm } =
		totals;
	const all = counted(requests, "request");
	const cost = unpricedRequests === 0 ? ` of ${formatDollars(usd + keptWarm.usd)}` : "";
	if (tokensLeftOut === 0 && keptWarm.pings === 0) return `saved nothing${cost} in ${all}: ${whyNothing(totals)}`;
	if (untoldRequests === requests) return `saved an unknown part${cost} in ${all}`;
	if (usdUntoldRequests === requests) return `${savedOfBill(totals)} in ${all} to a model without a known price`;
	const net = usdSaved - keptWarm.usd;
	const known = requests - usdUntoldRequests;
	const where = usdUntoldRequests === 0 ? all : `${formatCount(known)} of ${all}`;
	if (shownAs(net) === 0) return `saved nothing${cost} in ${where}: ${notYetPaid}`;
	if (net < 0) return `cost ${formatDollars(-net)} more than without edits in ${where}: ${notYetPaid}`;
	const whole = usd + usdSaved;
	const share =
		usdUntoldRequests === 0 && whole > 0 ? ` of ${formatDollars(whole)} (${formatPercent(net / whole)})` : "";
	return `saved ${formatDollars(net)}${share} in ${where}`;
}

const notYetPaid = "an edit makes the provider read what follows once more, and this ended before that had paid";

function savedOfBill({ billed, untoldBilled, billedUnedited, keptWarm }: ProxyTotals): string {
	const saved = 1 - (billed - untoldBilled + keptWarm.billed) / billedUnedited;
	return saved < 0
		? `cost ${formatPercent(-saved)} more input than without edits`
		: `saved ${formatPercent(saved)} of the input bill`;
}

function whyNothing({ requests, undecided }: ProxyTotals): string {
	const sum = Object.values(undecided).reduce((total, count) => total + count, 0);
	return sum < requests ? "no result was old or large enough for an edit to pay" : "no request got new decisions";
}

const shownAs = (usd: number): number => Math.round(usd * 10_000);

/** What kept the figures from being better. */
function reservations(totals: ProxyTotals): string[] {
	const { uncachedRequests, estimated, untoldRequests } = totals;
	const { cut, threads, unread, failed, failure, undecided, frozen, keptWarm, unasked } = totals;
	const untold = Math.max(0, untoldRequests - estimated);
	return [
		...(estimated > 0
			? [`${counted(estimated, "request")} estimated, without a saving: the upstream reports no usage`]
			: []),
		...(untold > 0 ? [`${counted(untold, "request")} without a known unedited bill`] : []),
		...(cut > 0 ? [`${counted(cut, "answer")} cut before the output was told`] : []),
		...unknownUsageText({ requests: totals.unknownUsage, fields: totals.unknownFields }),
		...(uncachedRequests > 0
			? [`${formatCount(uncachedRequests)} without a cache: the upstream reports no cached tokens`]
			: []),
		...(unasked.requests > 0 ? [unaskedText(unasked)] : []),
		...(threads > 0 ? [`${counted(threads, "thread")} of new messages alone, which cannot be edited`] : []),
		...(unread > 0 ? [`${counted(unread, "request")} in an encoding that cannot be read`] : []),
		...(failed > 0 ? [`${counted(failed, "request")} failed: ${failureText(failure)}`] : []),
		...undecidedText(undecided),
		...frozenText(frozen),
		...keptWarmText(keptWarm),
	];
}
