import type { GuardPolicy } from "../policy/schema.ts";

/**
 * Tokens that a conversation may take: the share of the context window that the policy allows, less the reserve for
 * the answer. Negative where the reserve is larger than the window; then nothing fits.
 */
export function budgetOf(contextWindow: number, policy: GuardPolicy): number {
	return Math.floor(contextWindow * policy.budget_ratio) - policy.reserve_tokens;
}
