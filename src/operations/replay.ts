import { once } from "../engine/conversation/lists.ts";
import type { TokenMeter } from "../engine/conversation/measure.ts";
import type { Transcript } from "../engine/conversation/transcript.ts";
import { toolTurns } from "../engine/conversation/turns.ts";
import { cacheSecondsOf, pausesOf } from "../engine/masking/cache-time.ts";
import { type CallTokens, type ReplayHistory, readHistory, scaleHistory } from "../engine/masking/history.ts";
import { withStepsIn } from "../engine/masking/price-steps.ts";
import { replay, type Schedule } from "../engine/masking/replay.ts";
import { findUses } from "../engine/masking/uses.ts";
import type { Policy } from "../engine/policy/schema.ts";
import { wordings } from "../engine/policy/wordings.ts";
import { type ContextParts, contextByPart, meterSchedule, outputByCall } from "../engine/replaying/bill.ts";
import { leastBills } from "../engine/replaying/bound.ts";
import { meterCompaction, type ReplayedCompaction } from "../engine/replaying/compaction.ts";
import { meterFaults } from "../engine/replaying/faults.ts";
import { meterPauses } from "../engine/replaying/pauses.ts";
import { measureRecall } from "../engine/replaying/recall.ts";
import {
	type PolicyTotals,
	type ReplayedSession,
	type ReplaySeries,
	reportOfSessions,
	unitOf,
} from "../engine/replaying/report.ts";
import { rivalSchedule } from "../engine/replaying/rivals.ts";
import { type ReadConversation, readConversation } from "../formats/detect.ts";
import { bindsReasoning, modelOfCall, modelOfSession, modelOnRecord } from "../formats/model.ts";
import { estimateTokens } from "../formats/tokens/estimate.ts";
import { placeholdersOf } from "../storage/restore/recognise.ts";
import { knownContextWindow } from "./context-window.ts";
import { startCopiedCalls } from "./copied-calls.ts";
import { asSent, tokenMeter } from "./count.ts";
import { maskConversation } from "./mask.ts";
import { type Arrived, arrivesWhole, startArrivals } from "./replay-arrival.ts";
import type { ReplayedPolicy } from "./replay-policies.ts";
import { pricingFigures, type Rates, ratesOfSession, timesOfCalls } from "./replay-rates.ts";

interface ReplaySettings {
	readonly policy: Policy;
	readonly policies: readonly ReplayedPolicy[];
	/** By default those of each session's own model, and those of the policy where it is unknown. */
	readonly rates?: Rates | undefined;
	/** By default each session's own, and the policy's. */
	readonly model?: string | undefined;
	readonly contextWindow?: number | undefined;
	readonly minTurns?: number | undefined;
	/** Conversations to keep the series of a plot for, those with the most LLM calls. Default 0. */
	readonly mostSeries?: number | undefined;
}

export async function startReplay(settings: ReplaySettings) {
	const { policy, minTurns = 0, mostSeries = 0 } = settings;
	const sessions: ReplayedSession[] = [];
	const copiedCalls = startCopiedCalls();
	let copied = 0;
	let drawn: readonly { readonly dollars: number | undefined; readonly series: readonly ReplaySeries[] }[] = [];

	return {
		/**
		 * Calls that a conversation before it has are not billed again. Returns false if the conversation has too few tool turns.
		 * Throws as masking does.
		 */
		async add({ file, conversation }: { readonly file: string; readonly conversation: unknown }): Promise<boolean> {
			const source = readConversation(conversation, policy.mask.observations);
			if (toolTurns(source.transcript).length < minTurns) return false;
			const { report, error } = await maskConversation({ conversation, policy });
			if (error) throw error;
			const { rates, model } = await pricingOf(source, settings);
			const { meter, estimate } = await tokenMeter(policy, model);
			const { factor } = estimate.scale;
			const { transcript, requestOverhead } = asSent(source, { model });
			const ownStart = copiedCalls.add(source);
			const replayed = replayConversation(
				{
					transcript,
					ownStart,
					arrivedUnder: startArrivals(source),
					meter,
					factor,
					requestOverhead: requestOverhead(meter.countTokens),
					bindsReasoning: bindsReasoning(settings.model, source, policy),
					windowTokens: await windowTokensOf(source, { ...settings, factor }),
					rates,
				},
				settings,
			);
			const { masked_tool_results, tool_chars, tokens } = report;
			const masking = {
				masked_tool_results,
				tool_chars_before: tool_chars.before,
				tool_chars_after: tool_chars.after,
				tokens_before: tokens.before,
				tokens_after: tokens.after,
			};
			const totals = replayed.map((one) => [one.policy.name, one.totals] as const);
			const { dollars } = rates;
			copied += replayed[0]?.copied ?? 0;
			sessions.push({ file, masking, totals, pricing: pricingFigures(rates), dollars });
			if (mostSeries > 0) {
				const series = replayed.map((one) => ({ file, policy: one.policy.name, ...one.series() }));
				drawn = withoutShortest([...drawn, { dollars, series }], mostSeries);
			}
			return true;
		},
		report: () => reportOfSessions(sessions),
		/** Calls that were left out, since a conversation before has them. */
		copied: () => copied,
		series(): ReplaySeries[] {
			const unit = unitOf(sessions);
			return drawn.flatMap(({ dollars = 1, series }) =>
				series.map((one) =>
					unit === "us_dollars" ? { ...one, billed: one.billed.map((cost) => cost * dollars) } : one,
				),
			);
		},
	};
}

/** The prices of a session, and the model in whose tokens it is counted. */
async function pricingOf(source: ReadConversation, { rates, model, policy }: ReplaySettings) {
	if (rates) return { rates, model: model ?? policy.guard.model ?? undefined };
	const own = model ?? modelOnRecord(source) ?? policy.guard.model ?? undefined;
	return { rates: await ratesOfSession(own, policy.prices, timesOfCalls(source.transcript)), model: own };
}

function withoutShortest<Drawn extends { readonly series: readonly ReplaySeries[] }>(
	drawn: readonly Drawn[],
	most: number,
): readonly Drawn[] {
	if (drawn.length <= most) return drawn;
	const calls = drawn.map(({ series }) => series[0]?.billed.length ?? 0);
	return drawn.toSpliced(calls.lastIndexOf(Math.min(...calls)), 1);
}

/** Returns the window in tokens of the model that counts, not of the conversation's own. */
async function windowTokensOf(source: ReadConversation, settings: ReplaySettings & { readonly factor: number }) {
	const { policy, contextWindow, model: named, factor } = settings;
	const model = modelOfCall(named ?? modelOfSession(source), source.document, policy);
	const window = await knownContextWindow({ contextWindow, policy, model });
	if (window === undefined) return undefined;
	const { scale } = await estimateTokens(model, policy.tokens.encoding ?? undefined);
	return (window.tokens / scale.factor) * factor;
}

interface ConversationToReplay {
	readonly transcript: Transcript;
	/** The message behind its copied calls. */
	readonly ownStart: number;
	readonly arrivedUnder: (policy: Policy) => Arrived | undefined;
	readonly meter: TokenMeter;
	/** Tokens of the model for each token that the meter counts. */
	readonly factor: number;
	readonly requestOverhead: number;
	readonly windowTokens: number | undefined;
	readonly bindsReasoning: boolean;
	readonly rates: Rates;
}

/** Tokens are the model's. */
function replayConversation(conversation: ConversationToReplay, settings: ReplaySettings) {
	const { windowTokens, factor } = conversation;
	const { policy: configured, policies } = settings;
	const { messages } = conversation.transcript;
	const rates = conversation.rates.lasting(cacheSecondsOf(messages, conversation.rates.prices));
	const { prices } = rates;
	const historyUnder = startHistories(conversation, prices.cache_seconds);
	function scheduleOf(one: ReplayedPolicy, histories: Histories): Schedule {
		const { mask } = one.policy;
		// A rival's thresholds are in tokens of the model.
		if (one.kind === "rival") return rivalSchedule(histories.billed, one.rival);
		return replay(histories.counted, {
			forgets: true,
			mask,
			prices: withStepsIn(prices, 1 / factor),
			oldestFirst: mask.by === "provider",
		});
	}
	function billOf(history: ReplayHistory, schedule: Schedule) {
		const bill = meterSchedule(history, schedule, prices);
		const costs = bill.calls.map((call) => rates.costOf(call) + rates.costOfOutput(call.redone ?? 0, call.input));
		const billedOutput = output.map((tokens, call) => rates.costOfOutput(tokens, bill.calls[call]?.input ?? 0));
		const own = (values: readonly number[]) => sumOf(values.slice(history.copied));
		return { ...bill, costs, billed: own(costs), outputTokens: own(output), billedOutput: own(billedOutput) };
	}
	/** Penalties and prices are in the unit of the bills. */
	const penalties = penaltiesInTokens.map((tokens) => tokens * conversation.rates.costOf({ input: 1, cached: 0 }));
	const pricesOfTokens = {
		read: rates.costOf({ input: 1, cached: 1 }),
		write: rates.costOf({ input: 1, cached: 0 }),
		output: rates.costOfOutput(1, 0),
		fault: configured.prices.fault,
	};
	function boundOf(histories: Histories) {
		histories.bound ??= leastBills(withoutReasoning(histories.billed), pricesOfTokens, penalties).map((bill, index) => {
			return { penalty: penalties[index] as number, bill };
		});
		return histories.bound;
	}
	const whole = historyUnder(arrivingWhole(configured));
	const output = outputByCall(whole.billed);
	const raw = billOf(whole.billed, new Float64Array(whole.billed.results.length).fill(Number.POSITIVE_INFINITY));
	const step = Math.min(...prices.steps.map(({ over }) => over));
	const overStep = (calls: readonly CallTokens[]) => calls.filter(({ input }) => input > step).length;
	const { copied = 0 } = whole.billed;
	const rawOverStep = overStep(raw.calls.slice(copied));

	/** Faults are those of a schedule that masks what is summarised: a summary is taken to keep nothing that is needed again. */
	function billCompaction(compaction: ReplayedCompaction, histories: Histories) {
		const { billed: history } = histories;
		const { thinking_redone: thinkingRedone } = prices;
		const { calls, schedule, requests } = meterCompaction(history, compaction, { windowTokens, thinkingRedone });
		const masked = { ...history, reasoning: undefined };
		const asMasked = billOf(masked, schedule);
		const { faults, billed: withFaults } = meterFaults(masked, schedule, rates);
		const costs = calls.map((call, index) => {
			const request = requests.get(index);
			const ofRequest = request ? rates.costOf(request) + rates.costOfOutput(request.output, request.input) : 0;
			return rates.costOf(call) + rates.costOfOutput(call.redone ?? 0, call.input) + ofRequest;
		});
		const own = calls.slice(history.copied);
		const billed = sumOf(costs.slice(history.copied));
		const billedForFaults = withFaults - asMasked.billed;
		return {
			...asMasked,
			...{ calls, costs, billed, schedule, faults, billedForFaults },
			inputTokens: sumOf(own.map(({ input }) => input)),
			cachedTokens: sumOf(own.map(({ cached }) => cached)),
			peakTokens: Math.max(0, ...own.map(({ input }) => input)),
			billedWithFaults: billed + configured.prices.fault * billedForFaults,
		};
	}
	function billWithFaults(one: ReplayedPolicy, histories: Histories) {
		if (one.kind === "compaction") return billCompaction(one.compaction, histories);
		const schedule = scheduleOf(one, histories);
		const bill = billOf(histories.billed, schedule);
		const { thinking_redone: thinkingRedone } = prices;
		const { faults, billed } = meterFaults(histories.billed, schedule, { ...rates, thinkingRedone });
		const billedForFaults = faults === 0 ? 0 : billed - bill.billed;
		const billedWithFaults = bill.billed + configured.prices.fault * billedForFaults;
		return { ...bill, schedule, faults, billedForFaults, billedWithFaults };
	}
	/** What the policy would be billed if the cache were lost at other moments. */
	const billLosing =
		(one: ReplayedPolicy, { counted, billed }: Histories) =>
		(cold: Uint8Array) =>
			billWithFaults(one, { counted: { ...counted, cold }, billed: { ...billed, cold } });

	return policies.map((one) => {
		const own = historyUnder(one.policy);
		// The provider checks the reasoning against what was sent, and no edit was.
		const isCleared = one.policy.mask.by === "provider";
		const histories = isCleared ? { ...own, billed: { ...own.billed, reasoning: undefined } } : own;
		const { billed: history } = histories;
		const { schedule, ...bill } = billWithFaults(one, histories);
		const { calls: all, costs, ...figures } = bill;
		const calls = all.slice(copied);
		const pauses = pausesOf(history.transcript, history.calls, prices.cache_seconds);
		const worstOf = (bill: number) => (raw.billed === 0 ? Number.NEGATIVE_INFINITY : bill / raw.billed);
		return {
			policy: one,
			copied,
			totals: {
				...figures,
				conversations: 1,
				calls: calls.length,
				raw: { inputTokens: raw.inputTokens, billed: raw.billed, billedOutput: raw.billedOutput },
				bound: boundOf(histories),
				worst: worstOf(figures.billed),
				worstWithFaults: worstOf(figures.billedWithFaults),
				priceStep: {
					callsOver: overStep(calls),
					rawCallsOver: rawOverStep,
					conversations: rawOverStep > 0 ? 1 : 0,
					billedWithFaults: rawOverStep > 0 ? figures.billedWithFaults : 0,
					rawBilled: rawOverStep > 0 ? raw.billed : 0,
				},
				callsOverWindow: calls.filter(({ input }) => input > (windowTokens ?? Number.POSITIVE_INFINITY)).length,
				callsOfKnownWindow: windowTokens === undefined ? 0 : calls.length,
				repeatedTokens: repeatedTokens(history, conversation.ownStart),
				...measureRecall(history, schedule),
				pauses: meterPauses(history, { pauses, bill, billWith: billLosing(one, histories), rates }),
			},
			series() {
				let billed = 0;
				return {
					context: contextByPart(history, schedule, prices.thinking_redone).slice(copied).map(rounded),
					billed: costs.slice(copied).map((cost) => {
						billed += cost;
						return billed;
					}),
				};
			},
		};
	});
}

function sumOf(values: readonly number[]): number {
	return values.reduce((sum, value) => sum + value, 0);
}

/** Bound reasoning only adds to a bill, whatever is masked, so a lower bound without it is one with it. */
function withoutReasoning(history: ReplayHistory): ReplayHistory {
	const { reasoning, messageTokens } = history;
	if (!reasoning) return history;
	return { ...history, messageTokens: messageTokens.map((own, index) => own - (reasoning.tokens[index] as number)) };
}

interface Histories {
	/** In tokens of the meter, by which policies decide. */
	readonly counted: ReplayHistory;
	/** In tokens of the model. */
	readonly billed: ReplayHistory;
	bound?: PolicyTotals["bound"];
}

/** Penalties of a fault for its bound, in tokens at the price of writing: from nothing to more than any masking saves. */
const penaltiesInTokens = [0, ...Array.from({ length: 10 }, (_, power) => 500 * 2 ** power)];

/** Reads a history once for all policies with the same placeholders and kept errors. */
function startHistories(conversation: ConversationToReplay, cacheSeconds: number) {
	const { arrivedUnder, meter, factor, requestOverhead, bindsReasoning } = conversation;
	const known = new Map<string, Histories>();
	const usesOfWhole = once(() => findUses(conversation.transcript));
	const { messageOverhead } = meter;
	return function historiesUnder(policy: Policy): Histories {
		const { keep_errors, error_detection, digest_tokens, placeholder, placeholder_template } = policy.mask;
		const wording = [policy.locale, placeholder, placeholder_template];
		const arrived = arrivedUnder(policy);
		const { transcript, uses } = arrived ?? { transcript: conversation.transcript, uses: usesOfWhole };
		const how = [wording, policy.media, keep_errors, error_detection, digest_tokens, arrived?.key];
		const key = JSON.stringify(how);
		const found = known.get(key);
		if (found) return found;
		const read = readHistory({
			transcript,
			policy: policy.mask,
			media: policy.media,
			wording: wordings(policy, "archived"),
			isPlaceholder: placeholdersOf(policy),
			countTokens: meter.countTokens,
			meter,
			uses,
			cacheTime: { seconds: cacheSeconds },
			bindsReasoning,
		});
		const links = arrived?.repeats.map(({ place, source, text }) => ({
			place,
			source,
			tokens: meter.countTokens(text),
		}));
		const repeats = links && links.length > 0 ? { repeats: links } : {};
		const counted = {
			...read,
			...repeats,
			copied: read.calls.filter((message) => message < conversation.ownStart).length,
		};
		const whole = arrived && historiesUnder(arrivingWhole(policy));
		const cut = (of: "counted" | "billed") => (whole ? { cut: { whole: whole[of], hides: arrived.hides } } : {});
		const surroundingTokens = counted.surroundingTokens + requestOverhead;
		const histories: Histories = {
			counted: { ...counted, surroundingTokens, ...cut("counted") },
			billed: { ...scaleHistory(counted, { factor, messageOverhead, requestOverhead }), ...cut("billed") },
		};
		known.set(key, histories);
		return histories;
	};
}

/** What a fork has in common with its conversation counts once. */
function repeatedTokens({ repeats = [], results }: ReplayHistory, ownStart: number): number {
	const own = repeats.filter(({ place }) => (results[place]?.message ?? 0) >= ownStart);
	return own.reduce((sum, { tokens }) => sum + tokens, 0);
}

function arrivingWhole(policy: Policy): Policy {
	return { ...policy, truncate: { ...policy.truncate, ...arrivesWhole } };
}

function rounded(parts: ContextParts): ContextParts {
	const entries = Object.entries(parts).map(([part, tokens]) => [part, Math.round(tokens)]);
	return Object.fromEntries(entries) as ContextParts;
}
