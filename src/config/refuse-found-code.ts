import path from "node:path";
import { invalidPolicy } from "../policy/errors.ts";
import { parseStrategyName } from "../policy/names.ts";
import type { PolicyLayer } from "../policy/schema.ts";
import type { PolicyFileSearch } from "./find-policy-file.ts";

/**
 * Refuses code that a policy file names which nobody named: hosts start a server in the folder of a project, and to open
 * somebody else's project must not run what lies in it.
 *
 * @throws PalimpsestError `invalid_policy`.
 */
export function refuseFoundCode(layer: PolicyLayer, file: string, search: PolicyFileSearch): void {
	const strategy = layer.compaction?.strategy;
	if (strategy === undefined || parseStrategyName(strategy).kind !== "external") return;
	const isNamed = search.policyFile !== undefined || Boolean(search.environment.PALIMPSEST_POLICY);
	if (isNamed || path.dirname(file) !== path.resolve(search.workingDirectory)) return;
	throw invalidPolicy(file, [
		"compaction.strategy: module#Export and module:Class are code, and this file was found in the working directory, not named. Trust it by --policy FILE or PALIMPSEST_POLICY.",
	]);
}
