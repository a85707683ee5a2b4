import type { Consumer } from "../engine/consumers.ts";
import type { Economics } from "../engine/economics.ts";
import type { LadderStep } from "../engine/guard-plan.ts";
import type { Report } from "../engine/report.ts";
import type { ArchivedGroup } from "./archive-originals.ts";
import type { CountingReport } from "./counting-report.ts";
import type { FollowUpReport } from "./follow-up.ts";
import type { ThinkingReport } from "./thinking-report.ts";

/** What a guarding did. */
export interface GuardReport extends Report, CountingReport {
	/**
	 * Whether the conversation is now within the budget, at the upper end of its band. `null` where no context window is
	 * known and the policy says to leave the conversation as it is then.
	 */
	readonly fits: boolean | null;
	/** `null` where none is known, as `budget_tokens`. */
	readonly context_window: number | null;
	readonly reserve_tokens: number;
	/** Tokens that the conversation may take; 0 or less only where the guard is turned off. */
	readonly budget_tokens: number | null;
	/** Tokens over the budget at the upper end of the band; 0 where it fits. */
	readonly shortfall_tokens: number;
	/** The ladder's steps that changed something, in order. */
	readonly steps: readonly {
		readonly step: LadderStep["step"];
		readonly count: number;
		readonly tokens_after: number;
	}[];
	/** The messages that take the most tokens in the conversation as it was passed in: their sizes before any edit. */
	readonly largest: readonly Consumer[];
	/** What the edits cost and save where the provider caches prompts. */
	readonly economics: Economics;
	/** Present where the policy says from how many messages a conversation counts as too long. */
	readonly max_messages?: { readonly limit: number; readonly messages: number; readonly reached: boolean };
	/** Present where the last answer was given: what was done about it. */
	readonly follow_up?: FollowUpReport;
	/** Present where an edit stands before reasoning blocks that are bound to their prefix. */
	readonly thinking?: ThinkingReport;
	/** The groups of messages that were dropped, and where each is archived; only with an archive. */
	readonly dropped_groups?: readonly ArchivedGroup[];
}
