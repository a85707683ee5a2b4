import type { MaskPolicy } from "../../policy/schema.ts";

/** What the one knob sets where the policy does not set it itself: tokens kept, and patience. */
const settings: Readonly<Record<MaskPolicy["thrift"], { readonly keepTokens: number; readonly patience: number }>> = {
	low: { keepTokens: 15_000, patience: 4 },
	medium: { keepTokens: 12_000, patience: 3 },
	high: { keepTokens: 5_000, patience: 3 },
};

/** Tokens of results that stay; 0 where all that is older than the window may go. */
export function budgetOfSelection(policy: MaskPolicy): number {
	return policy.keep_tokens ?? (policy.selection === "use" ? settings[policy.thrift].keepTokens : 0);
}

/** Multiple of what rewriting costs at which it pays to act. */
export function patienceOf(policy: MaskPolicy): number {
	return policy.patience ?? (policy.selection === "use" ? settings[policy.thrift].patience : 1);
}
