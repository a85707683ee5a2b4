import { mergeLayers } from "./merge-layers.ts";
import type { PolicyLayer } from "./policy-layer.ts";
import { presets } from "./presets.ts";
import { type Policy, policySchema } from "./schema.ts";

/**
 * The complete policy: the schema's defaults, over them the preset, over it the layers in order. The preset is that of
 * the last layer that names one. The layers must have passed `checkPolicyLayer`.
 */
export function resolvePolicy(layers: readonly PolicyLayer[]): Policy {
	const set = layers.reduce(mergeLayers, {});
	const preset = set.preset ?? policySchema.shape.preset.parse(undefined);
	const start = presets[preset].policy;
	const sameLocale = set.locale === undefined || set.locale === start.locale;
	return policySchema.parse({ ...mergeLayers(sameLocale ? start : withoutTemplates(start), set), preset });
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
