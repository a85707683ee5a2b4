import type { PolicyLayer } from "../../src/policy/policy-layer.ts";
import { resolvePolicy } from "../../src/policy/resolve-policy.ts";
import type { Policy } from "../../src/policy/schema.ts";

/** A complete policy from the fields that a test cares about. */
export function policyOf(layer: PolicyLayer = {}): Policy {
	return resolvePolicy([layer]);
}
