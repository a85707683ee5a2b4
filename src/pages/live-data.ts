import { counted, formatCount } from "./replay-data.ts";

// The script of the live page is bundled with this file, so it imports nothing that needs Node.js.

/** The sums of requests that the page shows. Null is unknown. Bills are in prices of an input token. */
export interface LiveSums {
	readonly requests: number;
	readonly tokens_sent: number;
	readonly tokens_left_out: number;
	readonly output_tokens: number;
	readonly cache_read_tokens: number;
	readonly cache_write_tokens: number;
	readonly billed: number;
	readonly billed_unedited: number | null;
	readonly untold_requests: number;
	readonly untold_billed: number;
	readonly ratio: number | null;
	readonly usd: number | null;
	readonly unpriced_requests: number;
	readonly usd_saved: number | null;
	readonly usd_untold_requests: number;
	readonly estimated_requests: number;
	readonly cut_requests: number;
	readonly uncached_requests: number;
	readonly reasoning_left_out: number;
	readonly provider_cleared_tokens: number;
}

/** A place where the provider's cache broke. Requests count from 1. */
export interface LiveBreak {
	readonly request: number;
	readonly cause: string;
	readonly detail: string;
	/** Written to the cache again. */
	readonly tokens: number;
	readonly usd: number | null;
	readonly advice: string | null;
}

export interface LiveResult {
	readonly request: number;
	readonly what: string;
	readonly why: string;
	readonly tool: string | null;
	readonly ref: string | null;
	readonly tokens_before: number;
	readonly tokens_after: number;
}

/** Times are in ms since 1970. Points, undecided requests, results and breaks are there for one conversation at a time. */
export interface LiveConversation extends LiveSums {
	readonly id: string;
	readonly api: string;
	readonly program: string | null;
	readonly agent: string | null;
	readonly folder: string | null;
	readonly model: string | null;
	readonly state: string;
	readonly first: number;
	readonly last: number;
	/** By request: tokens sent, tokens left out, billed, billed unedited. */
	readonly points: readonly (readonly [number, number, number, number])[];
	/** The number of the first of them. */
	readonly first_point: number;
	readonly undecided: readonly {
		readonly from: number;
		readonly to: number;
		readonly why: string;
		readonly last: number;
	}[];
	readonly results: readonly LiveResult[];
	readonly breaks?: readonly LiveBreak[];
}

/** What the page reads of the status of a proxy. */
export interface LiveStatus {
	readonly started: number;
	readonly requests: Readonly<Record<"requests" | "edited" | "passed" | "sent_again" | "threads" | "failed", number>>;
	readonly faults: Readonly<Record<string, number>>;
	readonly undecided: Readonly<Record<string, number>>;
	readonly undecided_last: Readonly<Record<string, number>>;
	readonly frozen_conversations: number;
	readonly unknown_usage: number;
	readonly unknown_usage_fields: readonly string[];
	readonly unasked: Readonly<Record<"requests" | "billed" | "usd", number>>;
	readonly kept_warm: Readonly<Record<"pings" | "billed" | "usd" | "failed", number>>;
	readonly edited: LiveSums;
	readonly held_out: LiveSums;
	readonly subagents: LiveSums;
	readonly conversations: readonly LiveConversation[];
}

/** By the number of decimals; to make one for each amount takes most of the time of an update. */
const money = Array.from({ length: 7 }, (_, digits) => {
	return new Intl.NumberFormat("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
});

/** `$1.24`, `−$0.0031`; small amounts with two digits that say something. */
export function formatDollars(value: number): string {
	const size = Math.abs(value);
	const digits = size === 0 || size >= 0.01 ? 2 : Math.min(6, 1 - Math.floor(Math.log10(size)));
	const text = money[digits]?.format(size) ?? "";
	return `${value < 0 && /[1-9]/.test(text) ? "−" : ""}$${text}`;
}

/** `8 %`; below one with a decimal. */
export function formatPercent(share: number): string {
	const percent = 100 * share;
	return `${percent !== 0 && percent < 0.95 ? percent.toFixed(1) : Math.round(percent)} %`;
}

/** A bill over the one without edits, as `−16 %` or `+3 %`. */
export function formatChange(ratio: number): string {
	const size = formatPercent(Math.abs(1 - ratio));
	return Number.parseFloat(size) === 0 ? "0 %" : `${ratio < 1 ? "−" : "+"}${size}`;
}

const dollarsOr = (value: number | null, unknown: string) => (value === null ? unknown : formatDollars(value));

export interface Tile {
	readonly name: string;
	readonly value: string;
	readonly detail: string;
	/** Whether it costs more than without edits. */
	readonly isLoss?: boolean;
}

/** The four large figures, the first two of what was saved. Sums of `docs/measure.md#stats`: pings are a cost. */
export function tilesOf({ edited, held_out: heldOut, requests, kept_warm: pings }: LiveStatus): Tile[] {
	const unedited = edited.tokens_sent + edited.tokens_left_out;
	const all = edited.requests + heldOut.requests;
	return [
		{ name: "US dollars saved", ...savedDollars(edited, pings) },
		{
			name: "Tokens left out",
			value: formatCount(edited.tokens_left_out),
			detail:
				unedited === 0
					? "none sent yet"
					: `${formatPercent(edited.tokens_left_out / unedited)} of ${formatCount(unedited)}, counted in each request`,
		},
		{ name: "Input bill", ...inputBill(edited, pings) },
		{
			name: "Requests",
			value: formatCount(all),
			detail: `${formatCount(requests.edited)} edited`,
		},
	];
}

function savedDollars(sums: LiveSums, pings: LiveStatus["kept_warm"]): Omit<Tile, "name"> {
	const { requests, usd, usd_saved: saved, usd_untold_requests: untold, unpriced_requests: unpriced } = sums;
	if (requests === 0) return { value: "–", detail: "no request yet" };
	if (saved === null || usd === null) {
		const detail = unpriced === requests ? "the price of the model is unknown" : "the bill without edits is unknown";
		return { value: "unknown", detail };
	}
	const net = saved - pings.usd;
	const paid = `paid ${formatDollars(usd + pings.usd)}${untold === 0 ? ` of ${formatDollars(usd + saved)}` : ""}`;
	const after = pings.usd > 0 ? `, ${formatDollars(pings.usd)} of it for pings` : "";
	const unknown = untold === 0 ? "" : `; unknown for ${counted(untold, "request")}`;
	return { value: formatDollars(net), detail: `${paid}${after}${unknown}`, isLoss: net < 0 };
}

function inputBill(sums: LiveSums, pings: LiveStatus["kept_warm"]): Omit<Tile, "name"> {
	const { requests, billed, untold_billed: untoldBilled, untold_requests: untold, billed_unedited: unedited } = sums;
	if (requests === 0) return { value: "–", detail: "no request yet" };
	if (unedited === null || unedited === 0) return { value: "unknown", detail: "the bill without edits is unknown" };
	const own = billed - untoldBilled + pings.billed;
	const detail = `${formatCount(own)} of ${formatCount(unedited)} input tokens${untold === 0 ? "" : `; unknown for ${counted(untold, "request")}`}`;
	return { value: formatChange(own / unedited), detail, isLoss: own > unedited };
}

/** `claude · project · subagent a76cb6e974cab09d2`; the API where no program is known. */
export function nameOf({ program, folder, api, agent }: LiveConversation): string {
	const names = [folder, agent === null ? null : `subagent ${agent}`].filter((name) => name !== null);
	return [program ?? api, ...names].join(" · ");
}

/** The conversation whose requests the status lists. */
export const detailedOf = ({ conversations }: LiveStatus): LiveConversation | undefined =>
	conversations.find(({ points }) => points.length > 0);

/** Where results were masked, cut or cleared, and where the cache broke, by the number of the request. */
export function marksOf({ results, breaks = [] }: Pick<LiveConversation, "results" | "breaks">) {
	const edits = new Map<number, LiveResult[]>();
	for (const result of results) {
		const same = edits.get(result.request);
		if (same) same.push(result);
		else edits.set(result.request, [result]);
	}
	return { edits, breaks: new Map(breaks.map((one) => [one.request, one])) };
}

export type Marks = ReturnType<typeof marksOf>;

/** `14 masked (it pays), 1 cut (it is large)`; a dash for none. */
export function editsInWords(edits: readonly LiveResult[] = []): string {
	const kinds = new Map<string, number>();
	for (const { what, why } of edits) kinds.set(`${what} (${why})`, (kinds.get(`${what} (${why})`) ?? 0) + 1);
	return Array.from(kinds, ([kind, count]) => `${formatCount(count)} ${kind}`).join(", ") || "–";
}

/** One line on a break, without its advice. */
export function breakInWords({ cause, detail, tokens }: LiveBreak): string {
	const name = inWords(cause);
	const named = detail === "" ? name : detail.startsWith(name) ? detail : `${name}: ${detail}`;
	return `${named}, ${counted(tokens, "token")} written again`;
}

/** A name of the status, such as `earlier_message`. */
export const inWords = (name: string): string => name.replaceAll("_", " ");

const reasons: Readonly<Record<string, string>> = {
	signed: "signed",
	large: "too large to be edited",
	no_room: "no memory beside other requests",
	kept_by_provider: "the provider keeps the history (previous_response_id), so only new results are cut",
	no_format: "the messages fit no format",
	held_out: "held out",
	frozen: "after a refusal",
	archive: "the archive cannot be written",
	memory: "the memory cannot be written",
	failed: "planning failed",
	busy: "too much to plan at once",
};

/** Why a request got no new decisions. */
export const reasonName = (reason: string): string => reasons[reason] ?? inWords(reason);

/** What happened in the proxy as a whole, with its names: refusals, faults and pings, and the requests that no sum has. Empty if nothing did. */
export function proxyRows(status: LiveStatus): (readonly [string, string])[] {
	const {
		requests,
		faults,
		undecided,
		undecided_last: last,
		kept_warm: pings,
		held_out: heldOut,
		edited,
		unasked,
	} = status;
	const undecidedText = Object.entries(undecided).map(
		([reason, count]) => `${reasonName(reason)}: ${formatCount(count)}, last ${timeOf(last[reason] ?? 0)}`,
	);
	const faultText = Object.entries(faults).flatMap(([kind, count]) =>
		count > 0 ? [`${inWords(kind)} ${formatCount(count)}`] : [],
	);
	const frozen = status.frozen_conversations;
	const sentAgain = [
		...(requests.sent_again > 0 ? [formatCount(requests.sent_again)] : []),
		...(frozen > 0 ? [`${counted(frozen, "conversation")} left alone for a while`] : []),
	];
	const heldText = `${counted(heldOut.requests, "request")} never edited, ${formatCount(heldOut.tokens_sent)} tokens, billed ${formatCount(heldOut.billed)}, ${dollarsOr(heldOut.usd, "dollars unknown")}`;
	const passed = [
		...(requests.passed > 0 ? [`${formatCount(requests.passed)} passed on unread`] : []),
		...(requests.threads > 0 ? [`${formatCount(requests.threads)} of threads`] : []),
		...(requests.failed > 0 ? [`${formatCount(requests.failed)} failed`] : []),
	];
	const texts: readonly (readonly [string, string])[] = [
		["Without new decisions", undecidedText.join("; ")],
		["Refused, sent again", sentAgain.join("; ")],
		["Faults", faultText.join(", ")],
		["Without cache_control", unasked.requests > 0 ? unaskedText(unasked) : ""],
		["Pings", pingsText(pings)],
		["Held out", heldOut.requests === 0 ? "" : heldText],
		["Other requests", passed.join(", ")],
	];
	return [
		...texts.filter(([, text]) => text !== ""),
		...row(
			status.subagents.requests,
			"Subagents",
			(requests) =>
				`${requests}, ${dollarsOr(status.subagents.usd, "dollars unknown")}, ${dollarsOr(status.subagents.usd_saved, "an unknown amount")} saved`,
		),
		...row(
			edited.uncached_requests,
			"Priced without a cache",
			(requests) => `${requests}: the upstream reports no cached tokens`,
		),
		...row(
			edited.estimated_requests,
			"Estimated",
			(requests) => `${requests}: their answers report no usage, so no saving is claimed`,
		),
		...row(edited.cut_requests, "Output unknown", (requests) => `${requests}: their answers were cut`),
		...row(status.unknown_usage, "Usage unknown", (requests) => `${requests}, in no figure`),
		...row(status.unknown_usage_fields.length, "Unknown counts of tokens", () =>
			status.unknown_usage_fields.join(", "),
		),
	];
}

function row(count: number, name: string, text: (requests: string) => string): [] | [readonly [string, string]] {
	return count === 0 ? [] : [[name, text(counted(count, "request"))]];
}

/** What a program pays more that does not ask for the cache of a Claude model. */
export function unaskedText({ requests, billed, usd }: LiveStatus["unasked"]): string {
	const cost = usd > 0 ? formatDollars(usd) : `${formatCount(billed)} tokens`;
	return `${counted(requests, "request")} without cache_control, which a Claude model needs to cache: ${cost} more than with it`;
}

function pingsText({ pings, billed, usd, failed }: LiveStatus["kept_warm"]): string {
	if (pings + failed === 0) return "";
	const failures = failed > 0 ? `, ${formatCount(failed)} failed` : "";
	return `${counted(pings, "ping")} kept caches warm, billed ${formatCount(billed)}${usd > 0 ? `, ${formatDollars(usd)}` : ""}${failures}`;
}

const states: Readonly<Record<string, string>> = {
	edited: "edited",
	nothing_to_edit: "nothing to edit yet",
	frozen: "left alone after a refusal",
	held_out: "held out, never edited",
};

/** The figures of one conversation, with their names. */
export function conversationRows(one: LiveConversation): (readonly [string, string])[] {
	const saved = one.usd_saved === null ? "unknown" : formatDollars(one.usd_saved);
	const told = one.untold_requests === 0 ? "" : `, unknown for ${formatCount(one.untold_requests)}`;
	return [
		["US dollars", dollarsOr(one.usd, "unknown")],
		["US dollars saved", saved],
		["Input bill", one.ratio === null ? "unknown" : `${formatChange(one.ratio)}${told}`],
		["Tokens sent", formatCount(one.tokens_sent)],
		["Tokens left out", formatCount(one.tokens_left_out)],
		["Read from the cache", formatCount(one.cache_read_tokens)],
		["Written to the cache", formatCount(one.cache_write_tokens)],
		["Output", formatCount(one.output_tokens)],
		["Reasoning left out", formatCount(one.reasoning_left_out)],
		...(one.provider_cleared_tokens > 0
			? ([["Cleared by the provider", formatCount(one.provider_cleared_tokens)]] as const)
			: []),
		["State", states[one.state] ?? inWords(one.state)],
	];
}

const hours = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
const timeOfDay = new Intl.DateTimeFormat("en", hours);
const timeAndDay = new Intl.DateTimeFormat("en", { month: "short", day: "numeric", ...hours });

const dayOf = (at: number): string => new Date(at).toDateString();

/** `10:24`, with the day unless that is today, where the page is read. */
export const timeOf = (at: number): string => (dayOf(at) === dayOf(Date.now()) ? timeOfDay : timeAndDay).format(at);

/** `10:24 to 11:02`. */
export function spanOf({ first, last }: Pick<LiveConversation, "first" | "last">): string {
	const to = dayOf(first) === dayOf(last) ? timeOfDay.format(last) : timeOf(last);
	return timeOfDay.format(first) === to ? timeOf(first) : `${timeOf(first)} to ${to}`;
}
