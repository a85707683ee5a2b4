import type { Outcome } from "../mask-conversation.ts";
import type { CallerRequest, CompactReport } from "./compact-report.ts";

/** A conversation after a compaction, or what is asked of the caller first. */
export interface CompactOutcome extends Outcome<CompactReport> {
	/** Present where the caller is asked for a summary; the conversation is then as it was. */
	readonly request?: CallerRequest;
}
