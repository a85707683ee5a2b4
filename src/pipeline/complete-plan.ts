import type { Plan } from "../engine/edit.ts";
import type { CountTokens } from "../engine/measure.ts";
import { affectedThinking, type MomentOf, madeNow, planStripThinking } from "../engine/strategies/thinking.ts";
import { PalimpsestError } from "../errors.ts";
import type { ReadConversation } from "../formats/read-conversation.ts";
import { planRelink } from "../formats/sessions/relink.ts";
import type { Policy } from "../policy/schema.ts";
import { type ThinkingReport, thinkingReport } from "./thinking-report.ts";

/** A plan with all that follows from it. */
export interface CompletedPlan {
	readonly plan: Plan;
	/** `undefined` where no such block is concerned. */
	readonly thinking: ThinkingReport | undefined;
}

/**
 * Adds to a plan what follows from it: reasoning blocks that the policy has taken out, and ties of records whose
 * predecessor is dropped.
 *
 * @throws PalimpsestError `thinking_bound` where the policy refuses edits before bound reasoning blocks.
 */
export function completePlan(what: {
	readonly source: ReadConversation;
	readonly plan: Plan;
	readonly policy: Policy;
	readonly countTokens: CountTokens;
	/** When each edit was first made; by default now. */
	readonly momentOf?: MomentOf | undefined;
}): CompletedPlan {
	const { source, plan, policy, countTokens, momentOf } = what;
	// Where edits are refused, none was made in an earlier call.
	const affected = affectedThinking(source.transcript, plan, policy.thinking === "refuse" ? madeNow : momentOf);
	if (policy.thinking === "refuse" && affected.length > 0) {
		throw new PalimpsestError(
			"thinking_bound",
			`${affected.length} reasoning blocks stand behind what would be edited and are bound to it, and the policy says thinking = "refuse". Allow it with thinking = "keep" or "strip_after_edit".`,
		);
	}
	const { document, transcript } = source;
	const strip =
		policy.thinking === "strip_after_edit"
			? planStripThinking({ document, transcript, affected, countTokens })
			: undefined;
	const all = [...plan, ...(strip?.edits ?? [])];
	return {
		plan: [...all, ...planRelink(source.format, source.located, all)],
		thinking: thinkingReport(affected, strip?.left),
	};
}
