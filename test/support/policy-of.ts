import { resolvePolicy } from "../../src/policy/layers.ts";
import type { Policy, PolicyLayer } from "../../src/policy/schema.ts";

/** A complete policy from the fields that a test cares about. */
export function policyOf(layer: PolicyLayer = {}): Policy {
	return resolvePolicy([layer]);
}
