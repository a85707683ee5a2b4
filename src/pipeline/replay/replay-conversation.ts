import type { TokenMeter } from "../../engine/measure.ts";
import { clairvoyantRecall } from "../../engine/replay/clairvoyant-recall.ts";
import { type ContextParts, contextByPart } from "../../engine/replay/context-by-part.ts";
import { type ReplayHistory, readHistory } from "../../engine/replay/history.ts";
import { measureRecall, type RecallCount } from "../../engine/replay/measure-recall.ts";
import { meterSchedule } from "../../engine/replay/meter-schedule.ts";
import { optimalSchedule } from "../../engine/replay/optimal-schedule.ts";
import { replay, type Schedule } from "../../engine/replay/replay.ts";
import { scaleHistory } from "../../engine/replay/scale-history.ts";
import type { Transcript } from "../../engine/transcript.ts";
import type { MaskPolicy, Policy } from "../../policy/schema.ts";
import { wordings } from "../../policy/wordings.ts";
import { placeholdersOf } from "../placeholders-of.ts";
import type { PolicyTotals, UseTotals } from "./policy-totals.ts";
import type { Rates } from "./rates.ts";
import type { ReplayedPolicy } from "./replayed-policy.ts";

/** A conversation to replay, and how it is counted and billed. */
export interface ConversationToReplay {
	readonly transcript: Transcript;
	readonly meter: TokenMeter;
	/** Tokens of the model for each that the meter counts of a text. */
	readonly factor: number;
	/** What the provider adds to each request, in tokens of the model. */
	readonly requestOverhead: number;
	/** Tokens of the model that fit the context window; `undefined` where it is not known. */
	readonly windowTokens: number | undefined;
	readonly rates: Rates;
	/** Whose error rule and placeholders stand behind the bill of masking nothing, which has neither. */
	readonly configured: Policy;
}

/** What came of one conversation under one policy. Tokens are the model's. */
export interface ReplayedUnderPolicy {
	readonly policy: ReplayedPolicy;
	readonly totals: PolicyTotals;
	/** What each LLM call was sent and cost, worked out when asked for. */
	readonly series: () => { readonly context: readonly ContextParts[]; readonly billed: readonly number[] };
}

/** Replays one conversation under each of some policies. What they have in common is counted once. */
export function replayConversation(
	conversation: ConversationToReplay,
	policies: readonly ReplayedPolicy[],
): ReplayedUnderPolicy[] {
	const { rates, windowTokens } = conversation;
	const historyUnder = startHistories(conversation);
	const optima = new Map<ReplayHistory, Map<number, Schedule>>();

	function optimumOf(history: ReplayHistory, { window_turns }: MaskPolicy): Schedule {
		const known = optima.get(history) ?? new Map<number, Schedule>();
		optima.set(history, known);
		const schedule = known.get(window_turns) ?? optimalSchedule(history, window_turns, rates.prices);
		known.set(window_turns, schedule);
		return schedule;
	}
	function scheduleOf({ kind, policy }: ReplayedPolicy, { counted, billed }: Histories): Schedule {
		if (kind === "optimum") return optimumOf(billed, policy.mask);
		const mask = kind === "raw" ? { ...policy.mask, enabled: false } : policy.mask;
		return replay(counted, { mask, prices: rates.prices });
	}
	function billOf(history: ReplayHistory, schedule: Schedule) {
		const bill = meterSchedule(history, schedule, rates.prices);
		const costs = bill.calls.map(rates.costOf);
		return { ...bill, costs, billed: costs.reduce((sum, cost) => sum + cost, 0) };
	}
	const whole = historyUnder(conversation.configured);
	const raw = billOf(whole.billed, new Float64Array(whole.billed.results.length).fill(Number.POSITIVE_INFINITY));

	return policies.map((one) => {
		const histories = one.kind === "raw" ? whole : historyUnder(one.policy);
		const schedule = scheduleOf(one, histories);
		const { billed: history } = histories;
		const bill = billOf(history, schedule);
		const recall = measureRecall(history, schedule);
		const uses = (kind: "identifiers" | "lines"): UseTotals => ({
			...(recall[kind] satisfies RecallCount),
			bound: clairvoyantRecall(history, { inputTokens: bill.inputTokens, kind }),
		});
		const hasOptimum = one.kind !== "raw" && goesByAgeAlone(one.policy.mask);
		return {
			policy: one,
			totals: {
				conversations: 1,
				calls: bill.calls.length,
				inputTokens: bill.inputTokens,
				cachedTokens: bill.cachedTokens,
				billed: bill.billed,
				raw: { inputTokens: raw.inputTokens, billed: raw.billed },
				optimum: hasOptimum ? billOf(history, optimumOf(history, one.policy.mask)).billed : null,
				worst: raw.billed === 0 ? Number.NEGATIVE_INFINITY : bill.billed / raw.billed,
				peakTokens: bill.peakTokens,
				callsOverWindow: windowTokens === undefined ? 0 : bill.calls.filter(({ input }) => input > windowTokens).length,
				callsOfKnownWindow: windowTokens === undefined ? 0 : bill.calls.length,
				maskedResults: bill.maskedResults,
				identifiers: uses("identifiers"),
				lines: uses("lines"),
			},
			series() {
				let billed = 0;
				return {
					context: contextByPart(history, schedule).map(rounded),
					billed: bill.costs.map((cost) => {
						billed += cost;
						return billed;
					}),
				};
			},
		};
	});
}

/** Whether the optimum of the window is a floor for a policy: whether it may do no more and no less than that does. */
function goesByAgeAlone(mask: MaskPolicy): boolean {
	const staysForAWhile = mask.keep_errors && mask.error_detection === "structural";
	return (
		mask.enabled &&
		mask.window_turns > 0 &&
		mask.selection === "age" &&
		(mask.keep_tokens ?? 0) === 0 &&
		(mask.keep_last_k_per_tool ?? 0) === 0 &&
		Object.keys(mask.tools).length === 0 &&
		!staysForAWhile
	);
}

/** A history in two countings. */
interface Histories {
	/** In tokens of the meter, as masking counts: what policies decide by. */
	readonly counted: ReplayHistory;
	/** In tokens of the model. */
	readonly billed: ReplayHistory;
}

/** Histories by policy, read once for policies whose placeholders and kept errors are the same. */
function startHistories({ transcript, meter, factor, requestOverhead }: ConversationToReplay) {
	const known = new Map<string, Histories>();
	const { messageOverhead } = meter;
	return (policy: Policy): Histories => {
		const { keep_errors, error_detection, digest_tokens, placeholder_template } = policy.mask;
		const how = [policy.locale, policy.media, keep_errors, error_detection, digest_tokens, placeholder_template];
		const key = JSON.stringify(how);
		const found = known.get(key);
		if (found) return found;
		const counted = readHistory({
			transcript,
			policy: policy.mask,
			media: policy.media,
			wording: wordings(policy, "archived"),
			isPlaceholder: placeholdersOf(policy),
			countTokens: meter.countTokens,
			meter,
		});
		const histories = {
			counted: { ...counted, surroundingTokens: counted.surroundingTokens + requestOverhead },
			billed: scaleHistory(counted, { factor, messageOverhead, requestOverhead }),
		};
		known.set(key, histories);
		return histories;
	};
}

function rounded(parts: ContextParts): ContextParts {
	return {
		system: Math.round(parts.system),
		user: Math.round(parts.user),
		assistant: Math.round(parts.assistant),
		results: Math.round(parts.results),
		placeholders: Math.round(parts.placeholders),
	};
}
