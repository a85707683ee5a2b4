import type { ContextParts } from "./bill.ts";
import type { PauseTotals } from "./pauses.ts";
import type { RecallCount } from "./recall.ts";

/** The sums behind the figures of a policy. Unlike the figures, they add up over conversations. */
export interface PolicyTotals {
	readonly conversations: number;
	readonly calls: number;
	readonly inputTokens: number;
	readonly cachedTokens: number;
	/** Of input. */
	readonly billed: number;
	readonly outputTokens: number;
	readonly billedOutput: number;
	/** Calls that needed a masked result. */
	readonly faults: number;
	/** Added to `billed` by faults if each costs one more call. */
	readonly billedForFaults: number;
	/** `billed` and the faults at the policy's price. */
	readonly billedWithFaults: number;
	readonly raw: { readonly inputTokens: number; readonly billed: number; readonly billedOutput: number };
	/** The least that any schedule's bill with faults and a penalty for each can be; the same penalties in each conversation. */
	readonly bound: readonly { readonly penalty: number; readonly bill: number }[];
	/** The largest ratio of one conversation to `raw`; `-Infinity` if none was billed. */
	readonly worst: number;
	readonly worstWithFaults: number;
	readonly peakTokens: number;
	readonly callsOverWindow: number;
	readonly callsOfKnownWindow: number;
	readonly maskedResults: number;
	readonly identifiers: RecallCount;
	readonly lines: RecallCount;
	/** Tokens of reasoning that the model binds to the messages before it. */
	readonly reasoning: { readonly recorded: number; readonly leftOut: number; readonly redone: number };
	readonly pauses: PauseTotals;
}

export function addTotals(a: PolicyTotals, b: PolicyTotals): PolicyTotals {
	return {
		...addNumbers(a, b),
		raw: addNumbers(a.raw, b.raw),
		bound: a.bound.map(({ penalty, bill }, index) => ({ penalty, bill: bill + (b.bound[index]?.bill ?? 0) })),
		worst: Math.max(a.worst, b.worst),
		worstWithFaults: Math.max(a.worstWithFaults, b.worstWithFaults),
		peakTokens: Math.max(a.peakTokens, b.peakTokens),
		identifiers: addNumbers(a.identifiers, b.identifiers),
		lines: addNumbers(a.lines, b.lines),
		reasoning: addNumbers(a.reasoning, b.reasoning),
		pauses: addNumbers(a.pauses, b.pauses),
	};
}

function addNumbers<Totals extends object>(a: Totals, b: Totals): Totals {
	const sum = ([key, value]: [string, unknown]) =>
		[key, typeof value === "number" ? value + ((b as Record<string, number>)[key] as number) : value] as const;
	return Object.fromEntries(Object.entries(a).map(sum)) as Totals;
}

/** A ratio to 0 is 1. */
export function figuresOf(policy: string, totals: PolicyTotals) {
	const { raw, billedWithFaults, faults, reasoning } = totals;
	const bound = Math.max(...totals.bound.map(({ penalty, bill }) => bill - penalty * faults));
	return {
		policy,
		conversations: totals.conversations,
		llm_calls: totals.calls,
		input_tokens: Math.round(totals.inputTokens),
		cached_tokens: Math.round(totals.cachedTokens),
		output_tokens: Math.round(totals.outputTokens),
		/** Input, in prices of one input token, or in US dollars with a model's prices. */
		billed: totals.billed,
		ratio_to_raw: ratio(totals.billed, raw.billed),
		worst_ratio_to_raw: orOne(totals.worst),
		faults_per_100_calls: totals.calls === 0 ? 0 : (100 * faults) / totals.calls,
		billed_with_faults: billedWithFaults,
		ratio_with_faults: ratio(billedWithFaults, raw.billed),
		/** The least `ratio_with_faults` that any choice of results and moments can have with so many faults. */
		bound_with_faults: ratio(bound, raw.billed),
		worst_ratio_with_faults: orOne(totals.worstWithFaults),
		/** The increase of `ratio_to_raw` if each fault costs one more call. */
		fault_cost_to_raw: raw.billed === 0 ? 0 : totals.billedForFaults / raw.billed,
		billed_output: totals.billedOutput,
		/** Of the whole bill, faults and output included. */
		ratio_with_output: ratio(billedWithFaults + totals.billedOutput, raw.billed + raw.billedOutput),
		/** Of input tokens to those of `raw`. */
		average_context_ratio: ratio(totals.inputTokens, raw.inputTokens),
		peak_context_tokens: Math.round(totals.peakTokens),
		calls_over_window: totals.callsOverWindow,
		calls_of_known_window: totals.callsOfKnownWindow,
		masked_tool_results: totals.maskedResults,
		/** In a tool result that was not masked when the string was used. */
		recall: shares(totals, "inView"),
		recall_in_digests: shares(totals, "inDigest"),
		/** Present if a model binds reasoning that is on record. */
		...(reasoning.recorded > 0 ? { reasoning: reasoningFigures(reasoning) } : {}),
		/** Present if times are on record. */
		...(totals.pauses.timedCalls > 0 ? { pauses: pauseFigures(totals) } : {}),
	};
}

function reasoningFigures({ recorded, leftOut, redone }: PolicyTotals["reasoning"]) {
	return {
		recorded_tokens: Math.round(recorded),
		left_out_tokens: Math.round(leftOut),
		left_out_share: leftOut / recorded,
		/** Output tokens, part of the bill. */
		redone_tokens: Math.round(redone),
	};
}

function pauseFigures({ pauses, raw, billed, calls }: PolicyTotals) {
	return {
		timed_calls: pauses.timedCalls,
		expired_calls: pauses.expiredCalls,
		/** Of all calls, and of `billed`. */
		expired_share_of_calls: pauses.expiredCalls / calls,
		expired_share_of_bill: billed === 0 ? 0 : pauses.billedExpired / billed,
		/** `ratio_with_faults` if the cache never expired. */
		ratio_never_expired: ratio(pauses.billedForever, raw.billed),
		/** The same with the pings of `proxy --keep-warm`; and if every program stays open after its last call. */
		ratio_kept_warm: ratio(pauses.billedKeptWarm, raw.billed),
		ratio_kept_warm_open: ratio(pauses.billedKeptWarm + pauses.billedAtEnd, raw.billed),
		pings: pauses.pings,
	};
}

function orOne(worst: number): number {
	return worst === Number.NEGATIVE_INFINITY ? 1 : worst;
}

function ratio(a: number, b: number): number {
	return b === 0 ? 1 : a / b;
}

function shares({ identifiers, lines }: PolicyTotals, what: "inView" | "inDigest"): RecallShares {
	const share = (uses: RecallCount) => (uses.used === 0 ? null : uses[what] / uses.used);
	return { identifiers: share(identifiers), lines: share(lines) };
}

/** Shares from 0 to 1 of the strings that assistant messages used; `null` if none was used. */
type RecallShares = Readonly<Record<"identifiers" | "lines", number | null>>;

/** The cost and the recall of a policy over some conversations. Tokens are those of the counter. */
export type PolicyFigures = ReturnType<typeof figuresOf>;

/** The figures of docs/replay.md#offline-figures. Characters are UTF-16 code units. */
export interface MaskingFigures {
	readonly masked_tool_results: number;
	readonly tool_chars_before: number;
	readonly tool_chars_after: number;
	readonly tokens_before: number;
	readonly tokens_after: number;
}

export interface ReplayedFile extends MaskingFigures {
	readonly file: string;
	readonly policies: readonly PolicyFigures[];
}

/** The output of `palimpsest replay --json`. */
export interface ReplayReport extends MaskingFigures {
	readonly policies: readonly PolicyFigures[];
	readonly files: readonly ReplayedFile[];
}

/** The LLM calls of one conversation under one policy, for a plot. */
export interface ReplaySeries {
	readonly file: string;
	readonly policy: string;
	readonly context: readonly ContextParts[];
	/** The running total of `PolicyFigures.billed`. */
	readonly billed: readonly number[];
}
