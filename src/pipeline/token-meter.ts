import type { TokenMeter } from "../engine/measure.ts";
import type { Policy } from "../policy/schema.ts";
import type { EncodingName } from "../tokens/encoding.ts";
import { estimateTokens, type TokenEstimate } from "../tokens/estimate-tokens.ts";
import { loadCounter } from "../tokens/load-counter.ts";
import { leastTokens, mostTokens } from "../tokens/token-bounds.ts";

/** How a call counts. */
export interface CallMeter {
	/** Counts in the encoding of `estimate`, unscaled. */
	readonly meter: TokenMeter;
	/** What the model makes of these numbers. */
	readonly estimate: TokenEstimate;
}

/** The meter for a call: in the policy's encoding, else in the model's own or the one nearest to it, else in o200k_base. */
export async function tokenMeter(policy: Policy, model: string | undefined): Promise<CallMeter> {
	const estimate = await estimateTokens(model, policy.tokens.encoding ?? undefined);
	const countTokens = await loadCounter(estimate.encoding);
	return { meter: sameMeter(estimate.encoding, countTokens, policy), estimate };
}

/** Meters that count the most and the least tokens that a text can have in any encoding; without counting it. */
export function boundingMeters(policy: Policy): { readonly most: TokenMeter; readonly least: TokenMeter } {
	return { most: sameMeter("most", mostTokens, policy), least: sameMeter("least", leastTokens, policy) };
}

const meters = new Map<string, TokenMeter>();

/** The same object for the same way of counting, since sizes are remembered by it. */
function sameMeter(name: EncodingName | "most" | "least", countTokens: TokenMeter["countTokens"], policy: Policy) {
	const messageOverhead = policy.tokens.message_overhead;
	const key = `${name}+${messageOverhead}`;
	const known = meters.get(key);
	if (known?.countTokens === countTokens) return known;
	if (meters.size >= 64) meters.clear();
	const meter = { countTokens, messageOverhead };
	meters.set(key, meter);
	return meter;
}
