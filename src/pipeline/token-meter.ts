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
	return sameMeter({ encoding, countTokens, messageOverhead: policy.tokens.message_overhead });
}

const meters = new Map<string, NamedMeter>();

/** The same object for the same way of counting, since sizes are remembered by it. */
function sameMeter(meter: NamedMeter): NamedMeter {
	const key = `${meter.encoding}+${meter.messageOverhead}`;
	const known = meters.get(key);
	if (known?.countTokens === meter.countTokens) return known;
	if (meters.size >= 64) meters.clear();
	meters.set(key, meter);
	return meter;
}
