import { type Measurement, measure } from "../engine/measure.ts";
import { hasLongText } from "../engine/strategies/truncate.ts";
import { type ScaledTokens, scaleTokens, type TokenScale } from "../engine/token-scale.ts";
import { resultCharacters, type Transcript } from "../engine/transcript.ts";
import type { Policy } from "../policy/schema.ts";
import { boundingMeters } from "./token-meter.ts";

/** Characters from which counting takes long enough for an early answer to be worth its wide band. */
export const largeConversation = 1_000_000;

/** A conversation that is known to fit, or not to fit, without being counted. */
export interface EarlyAnswer {
	/** By the most tokens that each text can have. */
	readonly measurement: Measurement;
	readonly band: Pick<ScaledTokens, "low" | "high">;
}

/** What an early answer depends on. */
export interface EarlyQuestion {
	readonly transcript: Transcript;
	readonly policy: Policy;
	/** Tokens that the conversation may take. */
	readonly budget: number;
	readonly scale: TokenScale;
	readonly requestOverhead: number;
	/** Characters from which a conversation counts as large. */
	readonly largeFrom: number;
}

/**
 * Bounds first: answers a large conversation that fits even by the most tokens that it can have, where the policy has
 * nothing else to do with it, or one that is over even by the least, where the ladder is empty. `undefined` where only a
 * count tells.
 */
export function answerEarly(question: EarlyQuestion): EarlyAnswer | undefined {
	const { transcript, policy, budget, scale, requestOverhead, largeFrom } = question;
	if (policy.tokens.count !== "auto") return undefined;
	const chars = charactersSent(transcript);
	if (chars < largeFrom) return undefined;
	// The most tokens that it can have are a byte each, no fewer than its characters.
	if (policy.guard.ladder.length > 0 && chars * scale.high > budget) return undefined;
	if (hasToCap(transcript, policy)) return undefined;
	const meters = boundingMeters(policy);
	const most = measure(transcript, meters.most, requestOverhead);
	const { high } = scaleTokens(most.total, scale);
	const mayBeOver = high > budget;
	if (mayBeOver && policy.guard.ladder.length > 0) return undefined;
	const least = scaleTokens(measure(transcript, meters.least, requestOverhead).total, scale);
	if (mayBeOver && least.high <= budget) return undefined;
	return { measurement: most, band: { low: least.low, high } };
}

function charactersSent({ messages }: Transcript): number {
	let chars = 0;
	for (const { counted, results, sent } of messages) {
		if (sent === false) continue;
		for (const text of counted) chars += text.length;
		for (const result of results) chars += resultCharacters(result);
	}
	return chars;
}

/** Whether a result may have to be cut although all fits. */
function hasToCap({ messages }: Transcript, { guard }: Policy): boolean {
	if (guard.truncate_when !== "always" || !guard.ladder.includes("truncate")) return false;
	return messages.some(({ results }) => results.some((result) => hasLongText(result, guard.max_tool_result_chars)));
}
