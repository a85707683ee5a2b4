import { mergeLayers } from "./merge-layers.ts";
import type { PolicyLayer } from "./policy-layer.ts";
import { presets } from "./presets.ts";
import { type Policy, policySchema } from "./schema.ts";

/**
 * The complete policy: the schema's defaults, over them the preset, over it the layers in order. The preset is that of
 * the last layer that names one. The layers must have passed `checkPolicyLayer`. Frozen: the same policy may be in use
 * elsewhere.
 */
export function resolvePolicy(layers: readonly PolicyLayer[]): Policy {
	const set = layers.reduce(mergeLayers, {});
	const preset = set.preset ?? policySchema.shape.preset.parse(undefined);
	const start = presets[preset].policy;
	const sameLocale = set.locale === undefined || set.locale === start.locale;
	return parseOnce({ ...mergeLayers(sameLocale ? start : withoutTemplates(start), set), preset });
}

// Every call asks for its policy, and checking one takes longer than reading a short conversation.
const parsed = new Map<string, Policy>();
const mostParsed = 16;

/** A policy of the caller's own, checked once for each that is asked for again. */
function parseOnce(layer: PolicyLayer): Policy {
	const key = JSON.stringify(layer);
	const policy = parsed.get(key) ?? frozen(policySchema.parse(layer));
	parsed.delete(key);
	parsed.set(key, policy);
	for (const oldest of parsed.keys()) {
		if (parsed.size <= mostParsed) break;
		parsed.delete(oldest);
	}
	return policy;
}

function frozen<Value>(value: Value): Value {
	if (typeof value !== "object" || value === null) return value;
	for (const inner of Object.values(value)) frozen(inner);
	return Object.freeze(value);
}

/** A preset's own templates are worded in its own locale, and would stand out in any other. */
function withoutTemplates(layer: PolicyLayer): PolicyLayer {
	const kept = (value: unknown): unknown => {
		if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
		const entries = Object.entries(value).filter(([key]) => !key.endsWith("_template"));
		return Object.fromEntries(entries.map(([key, inner]) => [key, kept(inner)]));
	};
	return kept(layer) as PolicyLayer;
}
