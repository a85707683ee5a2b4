import { statSync } from "node:fs";
import path from "node:path";
import { PalimpsestError } from "../errors.ts";
import { environmentLayer, resolvePolicy, settingsLayer } from "../policy/layers.ts";
import type { Policy, PolicyLayer } from "../policy/schema.ts";
import { refuseFoundCode } from "./external-strategy.ts";
import { findPolicyFile, type PolicyFileSearch, policyFileName, readPolicyFile } from "./policy-file.ts";

/** What a policy source is made from, and whom it tells of trouble. */
export interface PolicySourceOptions extends ConfigSources {
	/** Told why a changed file was not taken: it is invalid or gone. The policy in force stays. */
	readonly onError?: ((error: PalimpsestError) => void) | undefined;
	/** Time between two looks at the file, in milliseconds. Default 500. */
	readonly intervalMilliseconds?: number | undefined;
}

/** The policy in force, which follows its file. */
export interface PolicySource {
	current(): Policy;
	/** The layers of the policy in force; lay a tool call's own policy over them and resolve. */
	layers(): readonly PolicyLayer[];
	/** Path of the policy file in force; null where there is none. */
	file(): string | null;
	/** Has a listener called after each change of the policy. Answers with a function that ends this. */
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
export async function createPolicySource(options: PolicySourceOptions): Promise<PolicySource> {
	const found = await findPolicyFile(options);
	const watched = found ?? path.resolve(options.workingDirectory, policyFileName);
	const listeners = new Set<(policy: Policy) => void>();
	let closed = false;
	const report = (error: unknown): void => {
		if (closed) return;
		const typed = error instanceof PalimpsestError;
		options.onError?.(typed ? error : new PalimpsestError("internal", String(error), { cause: error }));
	};

	const tell = (listener: (policy: Policy) => void, policy: Policy): void => {
		try {
			listener(policy);
		} catch (error) {
			report(error);
		}
	};

	let config: Config;
	let latest = 0;
	const reload = async (): Promise<void> => {
		latest += 1;
		const turn = latest;
		await first;
		const next = await loadConfigOf(watched, options);
		if (closed || turn !== latest) return;
		const changed = JSON.stringify(next.layers) !== JSON.stringify(config.layers);
		config = next;
		if (changed) for (const listener of [...listeners]) tell(listener, next.policy);
	};

	// Watching starts before the first read, so that no change falls between the two.
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
		file: () => config.file?.path ?? null,
		onChange(listener) {
			listeners.add(listener);
			return () => listeners.delete(listener);
		},
		close,
	};
}

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

/**
 * Takes those variables out of an environment that a host left as the name of a setting: Claude Desktop starts a bundle
 * with `PALIMPSEST_ARCHIVE=${user_config.archive_folder}`, to the letter, where its user left that setting empty.
 */
export function dropUnfilledSettings(environment: NodeJS.ProcessEnv): void {
	for (const [name, value] of Object.entries(environment)) {
		if (name.startsWith("PALIMPSEST_") && /^\$\{[^{}]*\}$/.test(value ?? "")) delete environment[name];
	}
}

/** What to watch, and whom to tell. */
export interface PolicyFileWatch {
	readonly path: string;
	/** Called when the file has changed, appeared or been replaced, once it has rested for one interval. */
	readonly onChange: () => void;
	/** Called once when the file has gone or can no longer be looked at. */
	readonly onError: (error: PalimpsestError) => void;
	/** Time between two looks, in milliseconds. Default 500. */
	readonly intervalMilliseconds?: number | undefined;
}

const missing = "missing";

/**
 * Watches a file by looking at it again and again: that sees replacement by rename, which editors do, and works on
 * network drives. A file may be missing at the start. Never keeps the process alive. Answers with a function that ends
 * the watch.
 */
export function watchPolicyFile(watch: PolicyFileWatch): () => void {
	let told = fingerprint(watch.path);
	let last = told;
	const timer = setInterval(() => {
		const now = fingerprint(watch.path);
		// Waiting until two looks agree passes over files half written and the moment between delete and rename.
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
		const about = statSync(path, { bigint: true });
		return [about.dev, about.ino, about.size, about.mtimeNs, about.ctimeNs].join(":");
	} catch (error) {
		return `${missing}: ${(error as NodeJS.ErrnoException).code}`;
	}
}
