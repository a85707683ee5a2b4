import { once } from "../conversation/lists.ts";
import type { TokenMeter } from "../conversation/measure.ts";
import type { Transcript } from "../conversation/transcript.ts";
import { toolTurns } from "../conversation/turns.ts";
import { type ReadConversation, readConversation } from "../formats/detect.ts";
import { bindsReasoning, modelOfCall, modelOfSession } from "../formats/model.ts";
import { cacheSecondsOf } from "../masking/cache-time.ts";
import { type ReplayHistory, readHistory, scaleHistory } from "../masking/history.ts";
import { replay, type Schedule } from "../masking/replay.ts";
import { findUses } from "../masking/uses.ts";
import type { Policy } from "../policy/schema.ts";
import { wordings } from "../policy/wordings.ts";
import { type ContextParts, contextByPart, meterSchedule, outputByCall } from "../replaying/bill.ts";
import { leastBills } from "../replaying/bound.ts";
import { meterFaults } from "../replaying/faults.ts";
import { measureRecall } from "../replaying/recall.ts";
import {
	addTotals,
	figuresOf,
	type MaskingFigures,
	type PolicyTotals,
	type ReplayedFile,
	type ReplayReport,
	type ReplaySeries,
} from "../replaying/report.ts";
import { rivalSchedule } from "../replaying/rivals.ts";
import { placeholdersOf } from "../restore/recognise.ts";
import { estimateTokens } from "../tokens/estimate.ts";
import { knownContextWindow } from "./context-window.ts";
import { asSent, tokenMeter } from "./count.ts";
import { maskConversation } from "./mask.ts";
import { type Arrived, arrivesWhole, startArrivals } from "./replay-arrival.ts";
import type { ReplayedPolicy } from "./replay-policies.ts";
import type { Rates } from "./replay-rates.ts";

interface ReplaySettings {
	readonly policy: Policy;
	readonly policies: readonly ReplayedPolicy[];
	readonly rates: Rates;
	/** By default the policy's, and each session's own. */
	readonly model?: string | undefined;
	readonly contextWindow?: number | undefined;
	readonly minTurns?: number | undefined;
	/** Conversations to keep the series of a plot for, those with the most LLM calls. Default 0. */
	readonly mostSeries?: number | undefined;
}

export async function startReplay(settings: ReplaySettings) {
	const { policy, minTurns = 0, mostSeries = 0 } = settings;
	const model = settings.model ?? policy.guard.model ?? undefined;
	const { meter, estimate } = await tokenMeter(policy, model);
	const { factor } = estimate.scale;
	const files: ReplayedFile[] = [];
	let drawn: readonly (readonly ReplaySeries[])[] = [];
	const totalsOf = new Map<string, PolicyTotals>();

	return {
		/** Returns false if the conversation has too few tool turns. Throws as masking does. */
		async add({ file, conversation }: { readonly file: string; readonly conversation: unknown }): Promise<boolean> {
			const source = readConversation(conversation, policy.mask.observations);
			if (toolTurns(source.transcript).length < minTurns) return false;
			const { report, error } = await maskConversation({ conversation, policy });
			if (error) throw error;
			const { transcript, requestOverhead } = asSent(source, { model });
			const replayed = replayConversation(
				{
					transcript,
					arrivedUnder: startArrivals(source),
					meter,
					factor,
					requestOverhead: requestOverhead(meter.countTokens),
					bindsReasoning: bindsReasoning(settings.model, source, policy),
					windowTokens: await windowTokensOf(source, { ...settings, factor }),
				},
				settings,
			);
			const { masked_tool_results, tool_chars, tokens } = report;
			files.push({
				file,
				masked_tool_results,
				tool_chars_before: tool_chars.before,
				tool_chars_after: tool_chars.after,
				tokens_before: tokens.before,
				tokens_after: tokens.after,
				policies: replayed.map(({ policy: { name }, totals }) => figuresOf(name, totals)),
			});
			if (mostSeries > 0) {
				const series = replayed.map((one) => ({ file, policy: one.policy.name, ...one.series() }));
				drawn = withoutShortest([...drawn, series], mostSeries);
			}
			for (const { policy: one, totals } of replayed) {
				const before = totalsOf.get(one.name);
				totalsOf.set(one.name, before ? addTotals(before, totals) : totals);
			}
			return true;
		},
		report: (): ReplayReport => ({
			...sumOfFigures(files),
			policies: Array.from(totalsOf, ([name, totals]) => figuresOf(name, totals)),
			files,
		}),
		series: () => drawn.flat(),
	};
}

function withoutShortest(drawn: readonly (readonly ReplaySeries[])[], most: number) {
	if (drawn.length <= most) return drawn;
	const calls = drawn.map((series) => series[0]?.billed.length ?? 0);
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

function sumOfFigures(files: readonly MaskingFigures[]): MaskingFigures {
	const sumBy = (key: keyof MaskingFigures) => sumOf(files.map((file) => file[key]));
	return {
		masked_tool_results: sumBy("masked_tool_results"),
		tool_chars_before: sumBy("tool_chars_before"),
		tool_chars_after: sumBy("tool_chars_after"),
		tokens_before: sumBy("tokens_before"),
		tokens_after: sumBy("tokens_after"),
	};
}

interface ConversationToReplay {
	readonly transcript: Transcript;
	readonly arrivedUnder: (policy: Policy) => Arrived | undefined;
	readonly meter: TokenMeter;
	/** Tokens of the model for each token that the meter counts. */
	readonly factor: number;
	readonly requestOverhead: number;
	readonly windowTokens: number | undefined;
	readonly bindsReasoning: boolean;
}

/** Tokens are the model's. */
function replayConversation(conversation: ConversationToReplay, settings: ReplaySettings) {
	const { windowTokens } = conversation;
	const { policy: configured, policies } = settings;
	const { messages } = conversation.transcript;
	const rates = settings.rates.lasting(cacheSecondsOf(messages, settings.rates.prices));
	const { prices } = rates;
	const historyUnder = startHistories(conversation, prices.cache_seconds);
	function scheduleOf(one: ReplayedPolicy, histories: Histories): Schedule {
		const { mask } = one.policy;
		// A rival's thresholds are in tokens of the model.
		if (one.kind === "rival") return rivalSchedule(histories.billed, one.rival);
		return replay(histories.counted, { mask, prices });
	}
	function billOf(history: ReplayHistory, schedule: Schedule) {
		const bill = meterSchedule(history, schedule, prices);
		const costs = bill.calls.map((call) => rates.costOf(call) + rates.costOfOutput(call.redone ?? 0, call.input));
		const billedOutput = output.map((tokens, call) => rates.costOfOutput(tokens, bill.calls[call]?.input ?? 0));
		return { ...bill, costs, billed: sumOf(costs), outputTokens: sumOf(output), billedOutput: sumOf(billedOutput) };
	}
	/** Penalties and prices are in the unit of the bills; all conversations have the same penalties. */
	const penalties = penaltiesInTokens.map((tokens) => settings.rates.costOf({ input: tokens, cached: 0 }));
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

	return policies.map((one) => {
		const histories = historyUnder(one.policy);
		const schedule = scheduleOf(one, histories);
		const { billed: history } = histories;
		const { calls, costs, ...figures } = billOf(history, schedule);
		const { thinking_redone: thinkingRedone } = prices;
		const { faults, billed: withRecalls } = meterFaults(history, schedule, { ...rates, thinkingRedone });
		const billedForFaults = faults === 0 ? 0 : withRecalls - figures.billed;
		const billedWithFaults = figures.billed + configured.prices.fault * billedForFaults;
		const worstOf = (bill: number) => (raw.billed === 0 ? Number.NEGATIVE_INFINITY : bill / raw.billed);
		return {
			policy: one,
			totals: {
				...figures,
				conversations: 1,
				calls: calls.length,
				faults,
				billedForFaults,
				billedWithFaults,
				raw: { inputTokens: raw.inputTokens, billed: raw.billed, billedOutput: raw.billedOutput },
				bound: boundOf(histories),
				worst: worstOf(figures.billed),
				worstWithFaults: worstOf(billedWithFaults),
				callsOverWindow: calls.filter(({ input }) => input > (windowTokens ?? Number.POSITIVE_INFINITY)).length,
				callsOfKnownWindow: windowTokens === undefined ? 0 : calls.length,
				...measureRecall(history, schedule),
			},
			series() {
				let billed = 0;
				return {
					context: contextByPart(history, schedule, thinkingRedone).map(rounded),
					billed: costs.map((cost) => {
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
		const counted = readHistory({
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

function arrivingWhole(policy: Policy): Policy {
	return { ...policy, truncate: { ...policy.truncate, ...arrivesWhole } };
}

function rounded(parts: ContextParts): ContextParts {
	const entries = Object.entries(parts).map(([part, tokens]) => [part, Math.round(tokens)]);
	return Object.fromEntries(entries) as ContextParts;
}
