import { inspectPolicyLayer } from "./inspect-policy-layer.ts";
import { invalidPolicy } from "./invalid-policy.ts";
import type { PolicyLayer } from "./policy-layer.ts";

/**
 * Makes a policy layer of a value from outside. `source` says in the error where it came from: a file's path, `--set`,
 * "the tool's policy argument". `observation_masking.schema1` is read as `mask`.
 *
 * @throws PalimpsestError `invalid_policy`, listing every problem: the key, what was expected, what came.
 */
export function checkPolicyLayer(value: unknown, source: string): PolicyLayer {
	const { layer, problems } = inspectPolicyLayer(value);
	if (problems.length > 0) throw invalidPolicy(source, problems);
	return layer;
}
