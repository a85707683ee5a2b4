import type { Prices } from "../policy/schema.ts";
import type { Plan } from "./edit.ts";
import type { Measurement } from "./measure.ts";
import { totalsOf } from "./plan-totals.ts";
import { startSum } from "./size.ts";
import { likelyTokens, type TokenScale } from "./token-scale.ts";

/**
 * What a plan costs and saves where the provider caches the prompt, held against sending the conversation as it came,
 * all of it read from the cache. Tokens by the best guess.
 */
export interface Economics {
	/** Index of the first message that differs from the input; `null` where none does. */
	readonly first_changed_message: number | null;
	/** Tokens before it: what the provider still finds in its cache. */
	readonly prefix_kept_tokens: number;
	/** Tokens from it on, after the edits: what the provider writes to its cache anew. */
	readonly rewritten_tokens: number;
	/** Tokens that this call and each after it is sent less; below 0 where more was put in than taken out. */
	readonly saved_tokens_per_call: number;
	/**
	 * Calls after which the savings have paid for the rewriting: `rewritten × (cache_write − cache_read) ÷ (saved ×
	 * cache_read)`, rounded up; `null` where they never do.
	 */
	readonly calls_to_break_even: number | null;
}

/** Works out the economics of a plan from the sizes of the messages before it. */
export function economicsOf(
	plan: Plan,
	{
		measurement,
		prices,
		scale,
	}: { readonly measurement: Measurement; readonly prices: Prices; readonly scale: TokenScale },
): Economics {
	const { messages, total } = measurement;
	const { savedInMessages: saved, firstMessage } = totalsOf(plan);
	const first = firstMessage ?? messages.length;
	const rest = startSum();
	for (let index = first; index < messages.length; index += 1) rest.add(messages[index] as (typeof messages)[number]);
	const prefix = startSum(total);
	prefix.subtract(rest.total());
	rest.subtract(saved);
	const tokens = {
		kept: likelyTokens(prefix.total(), scale),
		rewritten: likelyTokens(rest.total(), scale),
		saved: likelyTokens(saved, scale),
	};
	return {
		first_changed_message: firstMessage ?? null,
		prefix_kept_tokens: tokens.kept,
		rewritten_tokens: tokens.rewritten,
		saved_tokens_per_call: tokens.saved,
		calls_to_break_even: firstMessage === undefined ? null : callsToBreakEven(tokens, prices),
	};
}

function callsToBreakEven(
	{ rewritten, saved }: { readonly rewritten: number; readonly saved: number },
	{ cache_read, cache_write }: Prices,
): number | null {
	const cost = rewritten * Math.max(0, cache_write - cache_read);
	if (cost === 0) return 0;
	return saved * cache_read > 0 ? Math.ceil(cost / (saved * cache_read)) : null;
}
