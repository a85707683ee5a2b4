import { quote } from "./describe-value.ts";
import { invalidPolicy } from "./invalid-policy.ts";
import { mergeLayers } from "./merge-layers.ts";
import { nearestName } from "./nearest-name.ts";
import { parseSetting } from "./parse-setting.ts";
import { policyFields } from "./policy-fields.ts";
import type { PolicyLayer } from "./policy-layer.ts";

/** The environment variables of a process; a name may be absent. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Variables of ours that set no field of the policy, and what they set. */
export const otherVariables = {
	PALIMPSEST_POLICY: "the path of the policy file",
	PALIMPSEST_ARCHIVE: "where originals are kept, as `--archive`",
	PALIMPSEST_NAMESPACE: "under which name they are kept, as `--namespace`",
	PALIMPSEST_AUTH_TOKENS: "who may use the server over HTTP, as the lines of the file of `--auth-tokens`",
	PALIMPSEST_LLM_URL: "the base URL of a chat-completions endpoint that is asked for summaries",
	PALIMPSEST_LLM_MODEL: "its model",
	PALIMPSEST_LLM_KEY: "its key, where it needs one",
	PALIMPSEST_LLM_TIMEOUT_MS: "how long one request to it may take, in milliseconds",
} as const;

const prefix = "PALIMPSEST_";

/**
 * The layer that `PALIMPSEST_…` variables make, such as `PALIMPSEST_MASK_WINDOW_TURNS=5`. Values are read as those of
 * `--set`; an empty variable counts as absent.
 *
 * @throws PalimpsestError `invalid_policy`, listing every variable that is unknown or cannot be used.
 */
export function environmentLayer(environment: Environment): PolicyLayer {
	const keys = new Map(policyFields().map((field) => [field.environmentName, field.key]));
	const known = [...keys.keys(), ...Object.keys(otherVariables)];
	const problems: string[] = [];
	let layer: PolicyLayer = {};
	for (const [name, text] of Object.entries(environment)) {
		if (!name.startsWith(prefix) || text === undefined || text === "") continue;
		const key = keys.get(name);
		if (key !== undefined) {
			const checked = parseSetting(key, text);
			problems.push(...checked.problems.map((problem) => `${name} sets ${problem}`));
			layer = mergeLayers(layer, checked.layer);
		} else if (!Object.hasOwn(otherVariables, name)) {
			const near = nearestName(
				name.slice(prefix.length),
				known.map((one) => one.slice(prefix.length)),
			);
			const shown = /^[A-Z0-9_]{1,80}$/i.test(name) ? name : quote(name);
			problems.push(`${shown}: unknown variable.${near === null ? "" : ` Did you mean ${prefix}${near}?`}`);
		}
	}
	if (problems.length > 0) throw invalidPolicy("the environment", problems);
	return layer;
}
