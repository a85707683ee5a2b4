import type { LostIdentifier } from "../../engine/compaction/lost-identifiers.ts";
import type { Report } from "../../engine/report.ts";
import type { ArchivedGroup } from "../archive-originals.ts";
import type { CountingReport } from "../counting-report.ts";
import type { ThinkingReport } from "../thinking-report.ts";

/** Why a conversation was compacted, or that it need not be. */
export type CompactionTrigger =
	/** The caller said so, or there was neither a context window nor a number of messages to decide by. */
	| "forced"
	/** Its tokens and the reserve fill the context window (seed 3). */
	| "tokens"
	/** It has as many messages as the policy allows (seed 4, task 3). */
	| "messages"
	| "not_due";

/** What came of it. */
export type CompactionResult =
	/** Old tool results were hidden. */
	| "hidden"
	/** A summary stands in the place of old messages. */
	| "summarised"
	/** A strategy of the user's own has rewritten it. */
	| "rewritten"
	/** The guard has brought it within the context window, since nobody could be asked for a summary. */
	| "guarded"
	/** The caller is asked for a summary; nothing was changed yet. */
	| "summary_requested"
	/** It was not due, or nothing was there to be compacted. */
	| "unchanged";

/** What a compaction did. */
export interface CompactReport extends Report, CountingReport {
	/** The strategy asked for. */
	readonly strategy: string;
	readonly trigger: CompactionTrigger;
	readonly result: CompactionResult;
	/** Context window in tokens; absent where it is not known and was not needed. */
	readonly context_window?: number;
	readonly reserve_tokens: number;
	/** Present where a summary was put in. */
	readonly summary?: SummaryReport;
	/** Present where an edit stands before reasoning blocks that are bound to their prefix. */
	readonly thinking?: ThinkingReport;
	/** The groups of messages that were taken out, and where each is archived; only with an archive. */
	readonly dropped_groups?: readonly ArchivedGroup[];
}

/** What a summary took the place of, and what it lost. */
export interface SummaryReport {
	/** Who wrote it: `sampling`, a model's name, `caller`. */
	readonly by: string;
	/** Messages that it stands for. */
	readonly messages: number;
	readonly tokens: { readonly before: number; readonly after: number };
	/** Where those messages are archived, as one list of JSON; absent without an archive. */
	readonly ref?: string;
	/** In how many parts the model was asked, where they did not fit its window together. */
	readonly parts: number;
	/** Tokens of the model calls, as the endpoint counted them. */
	readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number };
	/** Identifiers of those messages that the summary does not name, the likeliest to be needed first. */
	readonly lost_identifiers: readonly Pick<LostIdentifier, "text" | "kind">[];
	/** How many different ones they hold, and how many of these the summary does not name. */
	readonly identifiers: { readonly found: number; readonly lost: number };
}

/** A request to the caller for a summary. */
export interface CallerRequest {
	/** Given back with the summary. */
	readonly summary_token: string;
	/** What is to be written, and from what. */
	readonly prompt: string;
	readonly max_summary_tokens: number;
	/** The messages that the summary will stand for, by their indexes, and their tokens. */
	readonly messages: { readonly first: number; readonly last: number; readonly count: number; readonly tokens: number };
}
