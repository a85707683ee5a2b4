import { type Measurement, measure } from "../engine/measure.ts";
import type { TokenEstimate } from "../tokens/estimate-tokens.ts";
import { answerEarly, type EarlyAnswer, type EarlyQuestion, largeConversation } from "./answer-early.ts";
import { calibrate } from "./calibrate.ts";
import type { SentConversation } from "./request-parts.ts";
import type { CallMeter } from "./token-meter.ts";

/** A conversation that is to be guarded, with how it is counted. */
export interface GuardCounting extends CallMeter, SentConversation, Pick<EarlyQuestion, "policy" | "budget"> {
	/** What the provider counted, where the caller says. */
	readonly inputTokens: number | undefined;
	readonly largeFrom: number | undefined;
}

/** What is known of a conversation's size before anything is done to it. */
export interface GuardCount extends CallMeter {
	readonly measurement: Measurement;
	/** Set where it was not counted, and where nothing is to be done to it. */
	readonly early: EarlyAnswer | undefined;
}

/** Measures a conversation: by its bounds where they tell enough, else by a count, calibrated where that can be done. */
export function countForGuard(counting: GuardCounting): GuardCount {
	const { transcript, meter, estimate, inputTokens, largeFrom = largeConversation } = counting;
	const requestOverhead = counting.requestOverhead(meter.countTokens);
	const { policy, budget } = counting;
	const question = { transcript, policy, budget, scale: estimate.scale, requestOverhead, largeFrom };
	const early = inputTokens === undefined ? answerEarly(question) : undefined;
	if (early) return { meter, estimate: bounded(estimate), measurement: early.measurement, early };
	const measurement = measure(transcript, meter, requestOverhead);
	const calibrated =
		inputTokens === undefined ? estimate : calibrate(estimate, { transcript, measurement, inputTokens });
	return { meter, estimate: calibrated, measurement, early };
}

/** All numbers of such an answer are the most that they can be. */
function bounded(estimate: TokenEstimate): TokenEstimate {
	const { high } = estimate.scale;
	return { ...estimate, method: "bounded", scale: { low: high, factor: high, high } };
}
