import { groupBy } from "../conversation/lists.ts";
import type { Prices } from "../policy/schema.ts";
import type { ContextParts } from "./bill.ts";
import type { PauseTotals } from "./pauses.ts";
import type { RecallCount } from "./recall.ts";

/** The sums behind the figures of a policy. Unlike the figures, they add up over conversations. */
export interface PolicyTotals {
	readonly conversations: number;
	readonly calls: number;
	readonly inputTokens: number;
	readonly cachedTokens: number;
	/** The bill of the input. */
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
	/** The least that any schedule's bill with faults and a penalty for each can be; penalties grow from 0. */
	readonly bound: readonly { readonly penalty: number; readonly bill: number }[];
	/** The largest ratio of one conversation to `raw`; `-Infinity` if none was billed. */
	readonly worst: number;
	readonly worstWithFaults: number;
	readonly peakTokens: number;
	/** For models with price steps. The bills are of conversations that pass the lowest step raw. */
	readonly priceStep: {
		readonly callsOver: number;
		readonly rawCallsOver: number;
		readonly conversations: number;
		readonly billedWithFaults: number;
		readonly rawBilled: number;
	};
	readonly callsOverWindow: number;
	readonly callsOfKnownWindow: number;
	readonly maskedResults: number;
	/** Left out of results as they arrive, since they are in view already. */
	readonly repeatedTokens: number;
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
		bound: a.bound.map(({ penalty, bill }) => ({ penalty, bill: bill + boundAt(b.bound, penalty) })),
		priceStep: addNumbers(a.priceStep, b.priceStep),
		worst: Math.max(a.worst, b.worst),
		worstWithFaults: Math.max(a.worstWithFaults, b.worstWithFaults),
		peakTokens: Math.max(a.peakTokens, b.peakTokens),
		identifiers: addNumbers(a.identifiers, b.identifiers),
		lines: addNumbers(a.lines, b.lines),
		reasoning: addNumbers(a.reasoning, b.reasoning),
		pauses: addNumbers(a.pauses, b.pauses),
	};
}

/** The least bill is concave in the penalty and grows with it, so between two of the list the line between their bounds is one. */
function boundAt(bound: PolicyTotals["bound"], penalty: number): number {
	const above = bound.findIndex((one) => one.penalty >= penalty);
	const [low, high] = [bound.at(above < 0 ? -1 : above - 1), bound[above]];
	if (!high || !low || above === 0) return high?.bill ?? low?.bill ?? 0;
	const share = (penalty - low.penalty) / (high.penalty - low.penalty);
	return low.bill + share * (high.bill - low.bill);
}

/** Bills and penalties in another unit: theirs times `factor`. */
function scaleBills(totals: PolicyTotals, factor: number): PolicyTotals {
	const { raw, bound, priceStep, pauses } = totals;
	return {
		...totals,
		billed: totals.billed * factor,
		billedOutput: totals.billedOutput * factor,
		billedForFaults: totals.billedForFaults * factor,
		billedWithFaults: totals.billedWithFaults * factor,
		raw: { ...raw, billed: raw.billed * factor, billedOutput: raw.billedOutput * factor },
		bound: bound.map(({ penalty, bill }) => ({ penalty: penalty * factor, bill: bill * factor })),
		priceStep: {
			...priceStep,
			billedWithFaults: priceStep.billedWithFaults * factor,
			rawBilled: priceStep.rawBilled * factor,
		},
		pauses: {
			...pauses,
			billedExpired: pauses.billedExpired * factor,
			billedForever: pauses.billedForever * factor,
			billedKeptWarm: pauses.billedKeptWarm * factor,
			billedAtEnd: pauses.billedAtEnd * factor,
		},
	};
}

function addNumbers<Totals extends object>(a: Totals, b: Totals): Totals {
	const sum = ([key, value]: [string, unknown]) =>
		[key, typeof value === "number" ? value + ((b as Record<string, number>)[key] as number) : value] as const;
	return Object.fromEntries(Object.entries(a).map(sum)) as Totals;
}

/** A ratio to 0 is 1. */
export function figuresOf(policy: string, totals: PolicyTotals) {
	const { raw, billedWithFaults, faults, reasoning, priceStep } = totals;
	const bound = Math.max(...totals.bound.map(({ penalty, bill }) => bill - penalty * faults));
	return {
		policy,
		conversations: totals.conversations,
		llm_calls: totals.calls,
		input_tokens: Math.round(totals.inputTokens),
		cached_tokens: Math.round(totals.cachedTokens),
		output_tokens: Math.round(totals.outputTokens),
		/** Input, as `ReplayReport.billed_in` says. */
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
		/** The share of output in the whole bill. */
		output_share: totals.billedOutput === 0 ? 0 : totals.billedOutput / (billedWithFaults + totals.billedOutput),
		/** Ratio of the whole bill, faults and output included. */
		ratio_with_output: ratio(billedWithFaults + totals.billedOutput, raw.billed + raw.billedOutput),
		/** Ratio of the input tokens to the input tokens of `raw`. */
		average_context_ratio: ratio(totals.inputTokens, raw.inputTokens),
		peak_context_tokens: Math.round(totals.peakTokens),
		calls_over_window: totals.callsOverWindow,
		calls_of_known_window: totals.callsOfKnownWindow,
		/** Present if a call passes a price step raw: calls over it, and the bill of the conversations with such calls. */
		...(priceStep.rawCallsOver > 0
			? {
					price_step: {
						calls_over: priceStep.callsOver,
						raw_calls_over: priceStep.rawCallsOver,
						conversations: priceStep.conversations,
						ratio_with_faults: ratio(priceStep.billedWithFaults, priceStep.rawBilled),
					},
				}
			: {}),
		masked_tool_results: totals.maskedResults,
		/** Tokens that are left out of results as they arrive, since they are in view already. */
		repeated_tokens: Math.round(totals.repeatedTokens),
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
		/** Shares of all calls, and of `billed`. */
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

/** The figures of docs/measure.md#offline-figures. Characters are UTF-16 code units. */
export interface MaskingFigures {
	readonly masked_tool_results: number;
	readonly tool_chars_before: number;
	readonly tool_chars_after: number;
	readonly tokens_before: number;
	readonly tokens_after: number;
}

export interface ReplayedFile extends MaskingFigures {
	readonly file: string;
	/** Whose prices it is billed at; `null` for those of the policy or of the call. */
	readonly model: string | null;
	readonly policies: readonly PolicyFigures[];
}

/** Prices as multiples of that of an input token; price steps in tokens of the model. */
export interface PricingFigures {
	readonly model: string | null;
	readonly cache_read: number;
	readonly cache_write: number;
	readonly output: number;
	readonly steps: Prices["steps"];
}

/** The output of `palimpsest replay --json`. */
export interface ReplayReport extends MaskingFigures {
	/** In US dollars if they are known of the models of all conversations, else in prices of an input token of each one's model. */
	readonly billed_in: BilledUnit;
	readonly prices: readonly (PricingFigures & { readonly conversations: number })[];
	readonly policies: readonly PolicyFigures[];
	readonly files: readonly ReplayedFile[];
}

export type BilledUnit = "input_tokens" | "us_dollars";

/** A replayed conversation. Bills are in prices of an input token of its model. */
export interface ReplayedSession {
	readonly file: string;
	readonly masking: MaskingFigures;
	readonly totals: readonly (readonly [policy: string, PolicyTotals])[];
	readonly pricing: PricingFigures;
	/** US dollars for an input token, where they are known. */
	readonly dollars: number | undefined;
}

export function unitOf(sessions: readonly ReplayedSession[]): BilledUnit {
	const areKnown = sessions.length > 0 && sessions.every(({ dollars }) => dollars !== undefined);
	return areKnown ? "us_dollars" : "input_tokens";
}

export function reportOfSessions(sessions: readonly ReplayedSession[]): ReplayReport {
	const unit = unitOf(sessions);
	const totals = new Map<string, PolicyTotals>();
	const files = sessions.map(({ file, masking, pricing, dollars = 1, ...one }): ReplayedFile => {
		const own = one.totals.map(([name, bills]) => {
			return [name, unit === "us_dollars" ? scaleBills(bills, dollars) : bills] as const;
		});
		for (const [name, bills] of own) {
			const before = totals.get(name);
			totals.set(name, before ? addTotals(before, bills) : bills);
		}
		const policies = own.map(([name, bills]) => figuresOf(name, bills));
		return { file, ...masking, model: pricing.model, policies };
	});
	const sumBy = (key: keyof MaskingFigures) => sessions.reduce((sum, { masking }) => sum + masking[key], 0);
	return {
		masked_tool_results: sumBy("masked_tool_results"),
		tool_chars_before: sumBy("tool_chars_before"),
		tool_chars_after: sumBy("tool_chars_after"),
		tokens_before: sumBy("tokens_before"),
		tokens_after: sumBy("tokens_after"),
		billed_in: unit,
		prices: Array.from(groupBy(sessions, ({ pricing }) => JSON.stringify(pricing)).values(), (alike) => ({
			...(alike[0] as ReplayedSession).pricing,
			conversations: alike.length,
		})),
		policies: Array.from(totals, ([name, bills]) => figuresOf(name, bills)),
		files,
	};
}

/** The LLM calls of one conversation under one policy, for a plot. */
export interface ReplaySeries {
	readonly file: string;
	readonly policy: string;
	readonly context: readonly ContextParts[];
	/** The running total of `PolicyFigures.billed`. */
	readonly billed: readonly number[];
}
