import { z } from "zod";
import { checkPolicyLayer } from "../policy/check-policy.ts";
import { policyJsonSchema } from "../policy/policy-json-schema.ts";
import { resolvePolicy } from "../policy/resolve-policy.ts";
import type { Policy } from "../policy/schema.ts";
import type { ToolContext } from "./tool.ts";

type Section = "media" | "thinking" | "mask" | "guard" | "truncate";
type JsonSchema = { readonly [key: string]: unknown; readonly properties?: Record<string, JsonSchema> };

/**
 * A tool's `policy` argument. Its JSON Schema is the policy schema's own, cut down to the sections that the tool uses and
 * without descriptions, which would cost every conversation tokens; `policy://schema` has them. The values themselves
 * are checked by `checkPolicyLayer`, whose errors name the nearest known field.
 */
export function policyInput(sections: readonly Section[]) {
	const properties = (policyJsonSchema() as JsonSchema).properties ?? {};
	const chosen = ["preset", "locale", ...sections].map((name) => [name, bare(properties[name] ?? {})]);
	return z
		.looseObject({})
		.optional()
		.meta({
			description: "Overrides for this call; see policy://schema.",
			properties: Object.fromEntries(chosen),
			additionalProperties: false,
		});
}

/** The policy of one call: the one in force with the call's own over it. */
export function policyOfCall(context: ToolContext, override: unknown): Policy {
	if (override === undefined) return resolvePolicy(context.layers);
	return resolvePolicy([...context.layers, checkPolicyLayer(override, "the tool's `policy` argument")]);
}

/**
 * A JSON Schema with types only: no descriptions, no defaults, no bounds that an error would explain anyway. A field that
 * may be null is given its other type, since leaving it out says the same and some providers take one type only.
 */
function bare(schema: JsonSchema): unknown {
	const { type, enum: values, items, properties, anyOf } = schema;
	if (Array.isArray(anyOf)) return bare((anyOf as JsonSchema[]).find((one) => one.type !== "null") ?? {});
	return {
		...(values === undefined ? { type } : { enum: values }),
		...(items === undefined ? {} : { items: bare(items as JsonSchema) }),
		...(properties === undefined
			? {}
			: { properties: Object.fromEntries(Object.entries(properties).map(([key, value]) => [key, bare(value)])) }),
	};
}
