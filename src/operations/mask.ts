import { measure } from "../engine/conversation/measure.ts";
import { type Economics, economicsOf } from "../engine/conversation/report.ts";
import { pricesNow } from "../engine/masking/history.ts";
import { planMask } from "../engine/masking/mask.ts";
import type { KeptReason } from "../engine/masking/mask-result.ts";
import { withStepsIn } from "../engine/masking/price-steps.ts";
import {
	type ChangeReport,
	type ConversationRequest,
	concludePlan,
	type Outcome,
	openConversation,
	retryWithoutArchive,
} from "./conversation.ts";

export type MaskRequest = Omit<ConversationRequest, "model" | "tools">;

export interface MaskReport extends ChangeReport {
	/** Results outside the window that stay, by reason. */
	readonly kept: Readonly<Record<KeptReason, number>>;
	readonly economics: Economics;
}

/** Masks the old tool results of a conversation. Throws PalimpsestError `not_a_conversation`, `thinking_bound`. */
export function maskConversation(request: MaskRequest): Promise<Outcome<MaskReport>> {
	return retryWithoutArchive(request, maskOnce);
}

async function maskOnce(request: MaskRequest): Promise<Outcome<MaskReport>> {
	const { policy, idleSeconds } = request;
	const opened = await openConversation(request);
	const { transcript, meter, estimate, requestOverhead } = opened;
	const prices = withStepsIn(policy.prices, 1 / estimate.scale.factor);
	const { countTokens } = meter;
	const { edits, kept, momentOf } = planMask({
		...opened,
		policy: policy.mask,
		media: policy.media,
		countTokens,
		replaying: { meter, prices, idleSeconds },
	});
	const measurement = measure(transcript, meter, requestOverhead(countTokens));
	const { done, outcome } = await concludePlan(request, opened, { plan: edits, measurement, estimate, momentOf });
	const cost = { measurement, prices: pricesNow(transcript, prices, idleSeconds), scale: estimate.scale };
	const economics = economicsOf(done, cost);
	const notes = [...outcome.report.notes, ...notesOnWindow(policy)];
	return { ...outcome, report: { ...outcome.report, notes, kept: { ...kept }, economics } };
}

/** Why a window of no turns masks nothing. */
export function notesOnWindow({ mask }: Pick<MaskRequest["policy"], "mask">): readonly string[] {
	if (!mask.enabled || mask.window_turns > 0) return [];
	const least = "It is the number of latest tool turns whose results stay. Masking needs at least 1.";
	return [`mask.window_turns = ${mask.window_turns} masks nothing. ${least}`];
}
