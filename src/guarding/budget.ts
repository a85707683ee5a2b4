import type { GuardPolicy } from "../policy/schema.ts";

/** The tokens for a conversation: a share of the context window minus the reserve for the answer. May be negative. */
export function budgetOf(contextWindow: number, policy: GuardPolicy): number {
	return Math.floor(contextWindow * policy.budget_ratio) - policy.reserve_tokens;
}
