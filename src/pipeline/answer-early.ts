import {
	isMeasured,
	type MeasuredBeginning,
	type Measurement,
	measure,
	measuredBeginning,
	type TokenMeter,
} from "../engine/measure.ts";
import { hasLongText } from "../engine/strategies/truncate.ts";
import { type ScaledTokens, scaleTokens, type TokenScale } from "../engine/token-scale.ts";
import { type Message, resultCharacters, type Transcript } from "../engine/transcript.ts";
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
	/** The meter that would count it. */
	readonly meter: TokenMeter;
	readonly scale: TokenScale;
	readonly requestOverhead: number;
	/** Characters from which a conversation counts as large. */
	readonly largeFrom: number;
}

/**
 * Bounds first: answers a large conversation that fits even by the most tokens that it can have, where the policy has
 * nothing else to do with it, or one that is over even by the least, where the ladder is empty. `undefined` where only a
 * count tells; and where it was counted in an earlier call, since that costs nothing now.
 */
export function answerEarly(question: EarlyQuestion): EarlyAnswer | undefined {
	const { transcript, policy, budget, meter, scale, requestOverhead, largeFrom } = question;
	if (policy.tokens.count !== "auto" || isMeasured(transcript, meter)) return undefined;
	const begun = measuredBeginning(transcript, meter);
	if (begun.size.chars < largeFrom && !isLarge(transcript, largeFrom)) return undefined;
	if (policy.guard.ladder.length > 0 && hasMoreCharacters(transcript, { begun, budget, scale })) return undefined;
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

function isLarge({ messages }: Transcript, largeFrom: number): boolean {
	let chars = 0;
	for (const { counted, results } of messages) {
		for (const text of counted) chars += text.length;
		for (const result of results) chars += resultCharacters(result);
		if (chars >= largeFrom) return true;
	}
	return false;
}

/** Whether the most tokens that a conversation can have are surely over the budget: a byte each, no fewer than characters. */
function hasMoreCharacters(
	{ messages }: Transcript,
	{ begun, budget, scale }: Pick<EarlyQuestion, "budget" | "scale"> & { readonly begun: MeasuredBeginning },
): boolean {
	let { chars } = begun.size;
	for (let index = begun.messages; index < messages.length && chars * scale.high <= budget; index += 1) {
		const { counted, results, sent } = messages[index] as Message;
		if (sent === false) continue;
		for (const text of counted) chars += text.length;
		for (const result of results) chars += resultCharacters(result);
	}
	return chars * scale.high > budget;
}

/** Whether a result may have to be cut although all fits. */
function hasToCap({ messages }: Transcript, { guard }: Policy): boolean {
	if (guard.truncate_when !== "always" || !guard.ladder.includes("truncate")) return false;
	return messages.some(({ results }) => results.some((result) => hasLongText(result, guard.max_tool_result_chars)));
}
