import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Transcript } from "../../src/engine/conversation/transcript.ts";
import { toolTurns } from "../../src/engine/conversation/turns.ts";
import { cacheSecondsOf, pricesFor } from "../../src/engine/masking/cache-time.ts";
import { type ReplayHistory, readHistory } from "../../src/engine/masking/history.ts";
import { replay, type Schedule } from "../../src/engine/masking/replay.ts";
import type { Uses } from "../../src/engine/masking/uses.ts";
import type { Policy, Prices } from "../../src/engine/policy/schema.ts";
import { wordings } from "../../src/engine/policy/wordings.ts";
import { meterSchedule } from "../../src/engine/replaying/bill.ts";
import { meterFaults } from "../../src/engine/replaying/faults.ts";
import { measureRecall } from "../../src/engine/replaying/recall.ts";
import { type Rival, rivalSchedule } from "../../src/engine/replaying/rivals.ts";
import { type ReadConversation, readConversation } from "../../src/formats/detect.ts";
import { tokenMeter } from "../../src/operations/count.ts";
import { startArrivals } from "../../src/operations/replay-arrival.ts";
import { ratesOfPrices } from "../../src/operations/replay-rates.ts";
import { placeholdersOf } from "../../src/storage/restore/recognise.ts";
import { clairvoyantRecall } from "../lab/clairvoyant.ts";
import { optimalSchedule } from "../lab/optimum.ts";
import { policyOf } from "./policy-of.ts";
import { hasRealData, realDataFolder } from "./real-conversations.ts";

/** A policy replayed over one conversation. */
export interface Replayed {
	readonly billed: number;
	/** With the calls that recall what is missing. */
	readonly billedWithFaults: number;
	readonly faults: number;
	readonly calls: number;
	readonly inputTokens: number;
	readonly identifiers: { readonly used: number; readonly inView: number; readonly inDigest: number };
	readonly lines: { readonly used: number; readonly inView: number };
}

const { meter } = await tokenMeter(policyOf(), undefined);
const histories = new Map<Transcript, Map<string, ReplayHistory>>();

const found: readonly (readonly [source: string, ReadConversation])[] = hasRealData
	? readdirSync(join(realDataFolder, "conversations"), { recursive: true, encoding: "utf8" })
			.filter((name) => name.endsWith(".json"))
			.sort()
			.map((name) => [name, readFileSync(join(realDataFolder, "conversations", name), "utf8")] as const)
			.map(([name, text]) => [dirname(name), readConversation(JSON.parse(text))] as const)
			.filter(([, { transcript }]) => toolTurns(transcript).length >= 20)
	: [];

/** The conversations that policies are measured on: all real ones with at least 20 tool turns. */
export const conversations: readonly ReadConversation[] = found.map(([, read]) => read);

export const developmentSet: readonly Transcript[] = conversations.map(({ transcript }) => transcript);

/** The folder of each of them: a program, or a set of runs. */
export const sources: readonly string[] = found.map(([source]) => source);

/** The history of a conversation under a policy, with the real counter; made once for policies that mask alike. */
export function historyUnder(transcript: Transcript, policy: Policy): ReplayHistory {
	const { keep_errors, error_detection, digest_tokens, placeholder } = policy.mask;
	const key = JSON.stringify([policy.locale, keep_errors, error_detection, digest_tokens, placeholder]);
	const known = histories.get(transcript) ?? new Map<string, ReplayHistory>();
	histories.set(transcript, known);
	const history = known.get(key) ?? readUnder(transcript, policy, known.values().next().value?.uses);
	known.set(key, history);
	return history;
}

function readUnder(transcript: Transcript, policy: Policy, uses?: () => Uses): ReplayHistory {
	return readHistory({
		transcript,
		policy: policy.mask,
		media: policy.media,
		wording: wordings(policy, "archived"),
		isPlaceholder: placeholdersOf(policy),
		countTokens: meter.countTokens,
		meter,
		uses,
		cacheTime: { seconds: policy.prices.cache_seconds },
	});
}

/** Some sessions record that their cache lasted an hour. */
export function pricesOf({ messages }: Transcript, { prices }: Policy): Prices {
	return pricesFor(prices, cacheSecondsOf(messages, prices));
}

/** The price of a fault, between those of thrift low and medium, at which use at every turn keeps as much as window:16. */
export const ofAsMuchContext = 26_000;

/** `addedToFault` replaces the price of a fault that the thrift of the policy sets; `forgets` is that of a replay. */
export type HowReplayed = Pick<Parameters<typeof replay>[1], "addedToFault" | "forgets">;

/** Replays a policy over the set. */
export function replayAll(policy: Policy, how: HowReplayed = {}): readonly Replayed[] {
	return developmentSet.map((transcript) => {
		const history = historyUnder(transcript, policy);
		const schedule = replay(history, { ...how, mask: policy.mask, prices: policy.prices });
		return measure(history, schedule, pricesOf(transcript, policy));
	});
}

/** The history of a conversation whose results are cut as they arrive, as the proxy does under the policy. */
export function historyArriving(read: ReadConversation, policy: Policy): ReplayHistory {
	const whole = historyUnder(read.transcript, policy);
	const arrived = startArrivals(read)(policy);
	if (!arrived) return whole;
	const repeats = arrived.repeats.map(({ text, ...link }) => ({ ...link, tokens: meter.countTokens(text) }));
	const cut = { whole, hides: arrived.hides };
	return { ...readUnder(arrived.transcript, policy, arrived.uses), cut, ...(repeats.length > 0 ? { repeats } : {}) };
}

/** Replays a policy over the set with its cuts on arrival. */
export function replayArrived(policy: Policy, how: HowReplayed = {}): readonly Replayed[] {
	return conversations.map((read) => {
		const history = historyArriving(read, policy);
		const schedule = replay(history, { ...how, mask: policy.mask, prices: policy.prices });
		return measure(history, schedule, pricesOf(read.transcript, policy));
	});
}

/** Replays the rule of another program over the set, with the placeholders of a policy. */
export function replayRival(rival: Rival, policy: Policy): readonly Replayed[] {
	return developmentSet.map((transcript) => {
		const history = historyUnder(transcript, policy);
		return measure(history, rivalSchedule(history, rival), pricesOf(transcript, policy));
	});
}

function measure(history: ReplayHistory, schedule: Schedule, prices: Prices): Replayed {
	const { billed, inputTokens, calls } = meterSchedule(history, schedule, prices);
	const faults = meterFaults(history, schedule, ratesOfPrices(prices));
	const recall = measureRecall(history, schedule);
	return {
		billed,
		billedWithFaults: faults.billed,
		faults: faults.faults,
		calls: calls.length,
		inputTokens,
		...recall,
	};
}

/** The least bill of each conversation for a window, as the policy's error rule lets results go. */
export function optimaOf(policy: Policy): readonly number[] {
	return developmentSet.map((transcript) => {
		const history = historyUnder(transcript, policy);
		const prices = pricesOf(transcript, policy);
		const schedule = optimalSchedule(history, policy.mask.window_turns, prices);
		return meterSchedule(history, schedule, prices).billed;
	});
}

/** The recall of somebody who knew what is to come, conversation by conversation with the input tokens given. */
export function clairvoyantOf(policy: Policy, replayed: readonly Replayed[], kind: "identifiers" | "lines"): number {
	const inView = developmentSet.map((transcript, index) => {
		const inputTokens = replayed[index]?.inputTokens ?? 0;
		return clairvoyantRecall(historyUnder(transcript, policy), { inputTokens, kind });
	});
	return sum(inView) / sum(replayed.map((one) => one[kind].used));
}

/** The figures of a policy over the set, held against masking nothing. */
export function figuresOf(replayed: readonly Replayed[], raw: readonly Replayed[]) {
	const recall = (kind: "identifiers" | "lines") =>
		sum(replayed.map((one) => one[kind].inView)) / sum(replayed.map((one) => one[kind].used));
	const ratios = replayed.map(({ billed }, index) => billed / (raw[index]?.billed ?? 1));
	return {
		billed: sum(replayed.map(({ billed }) => billed)),
		ratioToRaw: sum(replayed.map(({ billed }) => billed)) / sum(raw.map(({ billed }) => billed)),
		worstRatioToRaw: Math.max(...ratios),
		withFaults: sum(replayed.map((one) => one.billedWithFaults)) / sum(raw.map(({ billed }) => billed)),
		faults: (100 * sum(replayed.map((one) => one.faults))) / sum(replayed.map(({ calls }) => calls)),
		context: sum(replayed.map((one) => one.inputTokens)) / sum(raw.map((one) => one.inputTokens)),
		identifiers: recall("identifiers"),
		lines: recall("lines"),
		inDigest: sum(replayed.map((one) => one.identifiers.inDigest)) / sum(replayed.map((one) => one.identifiers.used)),
	};
}

export type Figures = ReturnType<typeof figuresOf>;

/** A line of a table. */
export function showFigures(name: string, figures: Figures, more = ""): string {
	const { ratioToRaw, worstRatioToRaw, context, identifiers, lines, inDigest } = figures;
	const cells = [ratioToRaw, worstRatioToRaw, context, identifiers, lines].map((value) => value.toFixed(3));
	const digest = inDigest > 0 ? ` (+${inDigest.toFixed(3)} in digests)` : "";
	return `| ${[name, ...cells].join(" | ")} |${more}${digest}\n`;
}

export function sum(values: readonly number[]): number {
	return values.reduce((all, one) => all + one, 0);
}
