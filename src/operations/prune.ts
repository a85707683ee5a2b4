import { likelyTokens, measure } from "../engine/conversation/measure.ts";
import type { ReplaceEdit } from "../engine/conversation/plan.ts";
import { type Economics, economicsOf } from "../engine/conversation/report.ts";
import { pairResults, toolTurns } from "../engine/conversation/turns.ts";
import { pricesNow } from "../engine/masking/history.ts";
import { resultTargets } from "../engine/masking/judge-results.ts";
import { markUnsent, maskResult } from "../engine/masking/mask-result.ts";
import { cleanValue } from "../engine/masking/placeholder.ts";
import { findStale } from "../engine/masking/staleness.ts";
import {
	type ChangeReport,
	type ConversationRequest,
	concludePlan,
	type Outcome,
	openConversation,
} from "./conversation.ts";
import { targetText } from "./report.ts";

/** A tool result that can be taken out. Tokens are best guesses. */
export interface PrunableResult {
	/** Its place among the results of the conversation. */
	readonly place: number;
	readonly tool: string | null;
	/** The files of its call, or its command without quoted text. */
	readonly target: string | null;
	readonly age_turns: number;
	/** Whether the same text or the same call came again. */
	readonly stale: boolean;
	/** In the next call and each later one. */
	readonly frees: number;
	/** The tokens that the provider writes to its cache again if only this result goes. */
	readonly rewrites: number;
	readonly calls_to_break_even: number | null;
}

interface PruneReport extends ChangeReport {
	readonly economics: Economics;
}

/**
 * The results that are still sent and are larger than a placeholder: the largest first. Whoever chooses one means its media
 * too, whatever `media` says of old results.
 */
export async function listPrunable(request: ConversationRequest): Promise<readonly PrunableResult[]> {
	const { opened, measurement, prices, editsOf } = await openPruning(request);
	const { transcript, estimate } = opened;
	const { scale } = estimate;
	const targets = resultTargets(transcript);
	const stale = findStale(transcript);
	const turns = toolTurns(transcript);
	return pairResults(transcript)
		.flatMap((one, place): PrunableResult[] => {
			const edits = editsOf(place);
			if (edits.length === 0 || transcript.messages[one.message]?.sent === false) return [];
			const cost = economicsOf(edits, { measurement, prices, scale });
			const name = one.call?.name === undefined ? "" : cleanValue(one.call.name);
			return [
				{
					place,
					tool: name === "" ? null : name,
					target: targetText(targets[place]),
					age_turns: turns.filter((turn) => turn > (one.caller ?? one.message)).length,
					stale: stale[place] !== undefined,
					frees: likelyTokens(
						{ tokens: edits.reduce((sum, { before, after }) => sum + before.tokens - after.tokens, 0), fixed: 0 },
						scale,
					),
					rewrites: cost.rewritten_tokens,
					calls_to_break_even: cost.calls_to_break_even,
				},
			];
		})
		.sort((one, other) => other.frees - one.frees);
}

/** Masks the results at `places`, errors too. */
export async function pruneConversation(
	request: ConversationRequest & { readonly places: readonly number[] },
): Promise<Outcome<PruneReport>> {
	const { opened, measurement, prices, editsOf } = await openPruning(request);
	const { estimate } = opened;
	const plan = request.places.flatMap(editsOf);
	const { done, outcome } = await concludePlan(request, opened, { plan, measurement, estimate });
	const economics = economicsOf(done, { measurement, prices, scale: estimate.scale });
	return { ...outcome, report: { ...outcome.report, economics } };
}

async function openPruning(request: ConversationRequest) {
	const { policy, idleSeconds } = request;
	const opened = await openConversation(request);
	const { transcript, meter } = opened;
	const measurement = measure(transcript, meter, opened.requestOverhead(meter.countTokens));
	const how = {
		...opened,
		policy: { ...policy.mask, keep_errors: false },
		media: "and_texts" as const,
		countTokens: meter.countTokens,
	};
	const paired = pairResults(transcript);
	const editsOf = (place: number): readonly ReplaceEdit[] => {
		const one = paired[place];
		const edits = one ? maskResult(one, how) : "orphan";
		return typeof edits === "string" ? [] : markUnsent(transcript, edits);
	};
	return { opened, measurement, prices: pricesNow(transcript, policy.prices, idleSeconds), editsOf };
}
