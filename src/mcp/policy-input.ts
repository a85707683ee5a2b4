import { z } from "zod";
import { PalimpsestError } from "../errors.ts";
import { checkPolicyLayer, policyJsonSchema } from "../policy/check.ts";
import { resolvePolicy } from "../policy/layers.ts";
import { parseStrategyName } from "../policy/names.ts";
import type { Policy, PolicyLayer } from "../policy/schema.ts";
import type { ToolContext } from "./tool.ts";

type Section = "media" | "thinking" | "mask" | "guard" | "truncate" | "compaction";
type JsonSchema = { readonly [key: string]: unknown; readonly properties?: Record<string, JsonSchema> };

/**
 * A tool's `policy` argument. Its JSON Schema is the policy schema's own, cut down to what costs every conversation few
 * tokens: the choices of the plain fields, and the names of the fields in each section that the tool uses.
 * `policy://schema` has types, defaults and meanings. The values themselves are checked by `checkPolicyLayer`, whose
 * errors name the nearest known field.
 */
export function policyInput(sections: readonly Section[]) {
	const properties = (policyJsonSchema() as JsonSchema).properties ?? {};
	const chosen = ["preset", "locale", ...sections].map((name) => [name, bare(properties[name] ?? {})]);
	return z
		.looseObject({})
		.optional()
		.meta({
			description: "Overrides; see policy://schema.",
			properties: Object.fromEntries(chosen),
			additionalProperties: false,
		});
}

/** The policy of one call: the one in force with the call's own over it. */
export function policyOfCall(context: ToolContext, override: unknown): Policy {
	if (override === undefined) return policyInForce(context.layers);
	const layer = checkPolicyLayer(override, "the tool's `policy` argument");
	const strategy = layer.compaction?.strategy;
	if (strategy !== undefined && parseStrategyName(strategy).kind === "external") {
		throw new PalimpsestError(
			"invalid_policy",
			"The tool's `policy` argument cannot be used:\n- compaction.strategy: module#Export and module:Class are code, which the configuration alone may name; a call names one of the built-in strategies.",
		);
	}
	return resolvePolicy([...context.layers, layer]);
}

// The layers are another list once the configuration changes.
const inForce = new WeakMap<readonly PolicyLayer[], Policy>();

function policyInForce(layers: readonly PolicyLayer[]): Policy {
	const policy = inForce.get(layers) ?? resolvePolicy(layers);
	inForce.set(layers, policy);
	return policy;
}

/** What a field takes: of a section, the names of its fields. */
function bare({ type, enum: choices, properties }: JsonSchema): unknown {
	if (choices !== undefined) return { enum: choices };
	return { type, ...(properties === undefined ? {} : { description: Object.keys(properties).join(", ") }) };
}
