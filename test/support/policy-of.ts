import { resolvePolicy } from "../../src/engine/policy/layers.ts";
import type { Policy, PolicyLayer } from "../../src/engine/policy/schema.ts";

/** A complete policy from the fields that a test cares about. */
export function policyOf(layer: PolicyLayer = {}): Policy {
	return resolvePolicy([layer]);
}
