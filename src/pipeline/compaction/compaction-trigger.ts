import type { Size } from "../../engine/edit.ts";
import { scaleTokens, type TokenScale } from "../../engine/token-scale.ts";
import type { Transcript } from "../../engine/transcript.ts";
import type { Policy } from "../../policy/schema.ts";
import { sentMessages } from "../long-conversation.ts";
import type { CompactionTrigger } from "./compact-report.ts";

/** What decides whether a compaction is due. */
export interface TriggerParameters {
	readonly force: boolean;
	readonly transcript: Transcript;
	readonly total: Size;
	readonly scale: TokenScale;
	readonly policy: Policy;
	/** Tokens; `undefined` where it is not known. */
	readonly contextWindow: number | undefined;
	/** Tokens. */
	readonly reserveTokens: number;
}

/**
 * Whether a compaction is due: on demand, where the tokens (at the upper end of their band) and the reserve fill the
 * window (seed 3: `token_count + reserved >= max_context_size`), or where there are as many messages as the policy
 * allows (seed 4, task 3).
 */
export function compactionTrigger(parameters: TriggerParameters): CompactionTrigger {
	const { force, transcript, total, scale, policy, contextWindow, reserveTokens } = parameters;
	const { at_messages: most } = policy.compaction;
	// Without anything to decide by, the call itself is the decision.
	if (force || (contextWindow === undefined && most === null)) return "forced";
	if (contextWindow !== undefined && scaleTokens(total, scale).high + reserveTokens >= contextWindow) return "tokens";
	return most !== null && sentMessages(transcript) >= most ? "messages" : "not_due";
}
