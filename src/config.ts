import { findPolicyFile, type PolicyFileSearch } from "./config/find-policy-file.ts";
import { readPolicyFile } from "./config/read-policy-file.ts";
import { refuseFoundCode } from "./config/refuse-found-code.ts";
import { environmentLayer, resolvePolicy, settingsLayer } from "./policy/layers.ts";
import type { Policy, PolicyLayer } from "./policy/schema.ts";

/** What a configuration is made from. */
export interface ConfigSources extends PolicyFileSearch {
	/** The `--set key=value` arguments, in order. */
	readonly settings?: readonly string[] | undefined;
}

/** A complete policy, and what it was made of. */
export interface Config {
	readonly policy: Policy;
	/** File, environment and `--set`, in order of precedence. A tool call's own policy is laid over them. */
	readonly layers: readonly PolicyLayer[];
	/** The policy file that was read; null where there is none. */
	readonly file: { readonly path: string } | null;
}

/**
 * Makes the configuration from policy file, environment and settings.
 *
 * @throws PalimpsestError `unreadable_file` for a named file that cannot be read, `invalid_policy` for any of the
 * sources.
 */
export async function loadConfig(sources: ConfigSources): Promise<Config> {
	return loadConfigOf(await findPolicyFile(sources), sources);
}

/**
 * The same with a policy file that was looked for before; null where there is none.
 *
 * @throws PalimpsestError as `loadConfig`.
 */
export async function loadConfigOf(path: string | null, sources: ConfigSources): Promise<Config> {
	const ofFile = path === null ? undefined : await readPolicyFile(path);
	if (path !== null && ofFile) refuseFoundCode(ofFile, path, sources);
	const layers = [
		...(ofFile ? [ofFile] : []),
		environmentLayer(sources.environment),
		settingsLayer(sources.settings ?? []),
	];
	return { policy: resolvePolicy(layers), layers, file: path === null ? null : { path } };
}
