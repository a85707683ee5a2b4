import { statSync } from "node:fs";
import path from "node:path";
import { PalimpsestError } from "../errors.ts";
import { invalidPolicy } from "../policy/errors.ts";
import { environmentLayer, resolvePolicy, settingsLayer } from "../policy/layers.ts";
import { parseStrategyName } from "../policy/names.ts";
import type { Policy, PolicyLayer } from "../policy/schema.ts";
import { findPolicyFile, type PolicyFileSearch, policyFileName, readPolicyFile } from "./policy-file.ts";

/** The sources of a configuration. */
export interface ConfigSources extends PolicyFileSearch {
	/** The `--set key=value` arguments, in order. */
	readonly settings?: readonly string[] | undefined;
}

/** A complete policy with its sources. */
export interface Config {
	readonly policy: Policy;
	/** File, environment and `--set`, in order of precedence. A tool call's own policy is laid over them. */
	readonly layers: readonly PolicyLayer[];
	/** Path of the policy file that was read; null where there is none. */
	readonly file: string | null;
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

async function loadConfigOf(file: string | null, sources: ConfigSources): Promise<Config> {
	const ofFile = file === null ? [] : [await readPolicyFile(file)];
	if (file !== null) refuseFoundCode(ofFile[0]?.compaction?.strategy, file, sources);
	const layers = [...ofFile, environmentLayer(sources.environment), settingsLayer(sources.settings ?? [])];
	return { policy: resolvePolicy(layers), layers, file };
}

/**
 * Refuses a policy file that names code where nobody named the file: a host starts its server in the folder of a project,
 * and opening somebody else's project must not run code from it.
 */
function refuseFoundCode(strategy: string | undefined, file: string, search: PolicyFileSearch): void {
	if (strategy === undefined || parseStrategyName(strategy).kind !== "external") return;
	const isNamed = search.policyFile !== undefined || Boolean(search.environment.PALIMPSEST_POLICY);
	if (isNamed || path.dirname(file) !== path.resolve(search.workingDirectory)) return;
	throw invalidPolicy(file, [
		"compaction.strategy: module#Export and module:Class are code, and this file was found in the working directory, not named. Trust it by --policy FILE or PALIMPSEST_POLICY.",
	]);
}

/** The policy in force, which follows its file. */
export interface PolicySource {
	current(): Policy;
	/** The layers of the policy in force; lay a tool call's own policy over them and resolve. */
	layers(): readonly PolicyLayer[];
	/** Path of the policy file in force; null where there is none. */
	file(): string | null;
	/** Calls a listener after each change of the policy, until the returned function is called. */
	onChange(listener: (policy: Policy) => void): () => void;
	/** Ends the watch. The policy in force stays readable. */
	close(): void;
}

/**
 * Loads the configuration and follows its file. Where no file exists, one that appears in the working directory is
 * taken up.
 *
 * @throws PalimpsestError as `loadConfig`, at the start only.
 */
export async function createPolicySource(
	options: ConfigSources & {
		/** Told why a changed file was not taken: it is invalid or was deleted. The policy in force stays. */
		readonly onError?: ((error: PalimpsestError) => void) | undefined;
		readonly intervalMilliseconds?: number | undefined;
	},
): Promise<PolicySource> {
	const found = await findPolicyFile(options);
	const watched = found ?? path.resolve(options.workingDirectory, policyFileName);
	const listeners = new Set<(policy: Policy) => void>();
	let closed = false;
	const report = (error: unknown): void => {
		if (closed) return;
		const typed = error instanceof PalimpsestError;
		options.onError?.(typed ? error : new PalimpsestError("internal", String(error), { cause: error }));
	};

	let config: Config;
	let latest = 0;
	const reload = async (): Promise<void> => {
		latest += 1;
		const turn = latest;
		await first;
		const next = await loadConfigOf(watched, options);
		if (closed || turn !== latest) return;
		const isChanged = JSON.stringify(next.layers) !== JSON.stringify(config.layers);
		config = next;
		for (const listener of isChanged ? [...listeners] : []) {
			try {
				listener(next.policy);
			} catch (error) {
				report(error);
			}
		}
	};

	// Watching starts before the first read, so that no change between the two is missed.
	const endWatch = watchPolicyFile({
		path: watched,
		onChange: () => void reload().catch(report),
		onError: report,
		intervalMilliseconds: options.intervalMilliseconds,
	});
	const close = (): void => {
		closed = true;
		endWatch();
	};
	const first = found === null ? loadConfig(options) : loadConfigOf(found, options);
	try {
		config = await first;
	} catch (error) {
		close();
		throw error;
	}
	return {
		current: () => config.policy,
		layers: () => config.layers,
		file: () => config.file,
		onChange(listener) {
			listeners.add(listener);
			return () => listeners.delete(listener);
		},
		close,
	};
}

const missing = "missing";

/**
 * Watches a file, which may be missing, by looking at it every `intervalMilliseconds` (default 500): this also notices
 * editors that replace it by a rename, and works on network drives. `onChange` is called when a changed file has rested
 * for one interval, `onError` when it was deleted. Never keeps the process alive. Returns a function that ends the watch.
 */
export function watchPolicyFile(watch: {
	readonly path: string;
	readonly onChange: () => void;
	readonly onError: (error: PalimpsestError) => void;
	readonly intervalMilliseconds?: number | undefined;
}): () => void {
	let told = fingerprint(watch.path);
	let last = told;
	const timer = setInterval(() => {
		const now = fingerprint(watch.path);
		// Two equal looks in a row: neither half written, nor between a delete and a rename.
		const rested = now === last;
		last = now;
		if (!rested || now === told) return;
		told = now;
		if (!now.startsWith(missing)) watch.onChange();
		else watch.onError(new PalimpsestError("unreadable_file", `The policy file ${watch.path} is gone (${now}).`));
	}, watch.intervalMilliseconds ?? 500);
	timer.unref();
	return () => clearInterval(timer);
}

function fingerprint(path: string): string {
	try {
		const { dev, ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
		return [dev, ino, size, mtimeNs, ctimeNs].join(":");
	} catch (error) {
		return `${missing}: ${(error as NodeJS.ErrnoException).code}`;
	}
}
