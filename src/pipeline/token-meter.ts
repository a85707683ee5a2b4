import type { TokenMeter } from "../engine/measure.ts";
import type { Policy } from "../policy/schema.ts";
import { type EncodingName, encodingForModel } from "../tokens/encoding.ts";
import { loadCounter } from "../tokens/load-counter.ts";

/** A meter with the name of the encoding that it counts in. */
export interface NamedMeter extends TokenMeter {
	readonly encoding: EncodingName;
}

/** The meter for a call: the policy's encoding, else the model's own where known, else o200k_base. */
export async function tokenMeter(policy: Policy, model: string | undefined): Promise<NamedMeter> {
	const ofModel = model === undefined ? undefined : encodingForModel(model);
	const encoding = policy.tokens.encoding ?? ofModel ?? "o200k_base";
	const countTokens = await loadCounter(encoding);
	return { encoding, countTokens, messageOverhead: policy.tokens.message_overhead };
}
