import type { Plan } from "../engine/edit.ts";
import type { CountTokens } from "../engine/measure.ts";
import { jsonPointer } from "../engine/path.ts";
import { affectedThinking, planStripThinking } from "../engine/strategies/thinking.ts";
import { PalimpsestError } from "../errors.ts";
import type { ReadConversation } from "../formats/read-conversation.ts";
import { planRelink } from "../formats/relink.ts";
import type { Policy } from "../policy/schema.ts";

/** Longest list of reasoning blocks in a report. */
const shownBlocks = 20;

/** Reasoning blocks that stand behind an edit and are bound to what stands before them. */
export interface ThinkingReport {
	readonly count: number;
	/** JSON Pointers of the first of them, into the input. */
	readonly paths: readonly string[];
	/** What was done with them, or what can be done. */
	readonly advice: string;
}

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
}): CompletedPlan {
	const { source, plan, policy, countTokens } = what;
	const affected = affectedThinking(source.transcript, plan);
	if (policy.thinking === "refuse" && affected.length > 0) {
		throw new PalimpsestError(
			"thinking_bound",
			`${affected.length} reasoning blocks stand behind what would be edited and are bound to it, and the policy says thinking = "refuse". Allow it with thinking = "keep" or "strip_after_edit".`,
		);
	}
	const strip = policy.thinking === "strip_after_edit" ? planStripThinking(affected, countTokens) : [];
	const all = [...plan, ...strip];
	const report = {
		count: affected.length,
		paths: affected.slice(0, shownBlocks).map(({ block }) => jsonPointer(block.path)),
		advice:
			policy.thinking === "strip_after_edit"
				? "They were taken out."
				: 'Claude 5.1 and later may refuse them with status 400: set thinking = "strip_after_edit" in the policy, or have the API drop them.',
	};
	return {
		plan: [...all, ...planRelink(source.format, source.located, all)],
		thinking: affected.length === 0 ? undefined : report,
	};
}
