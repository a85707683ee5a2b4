import path from "node:path";
import { type Config, type ConfigSources, loadConfig, loadConfigOf } from "../config.ts";
import { PalimpsestError } from "../errors.ts";
import type { Policy, PolicyLayer } from "../policy/schema.ts";
import { findPolicyFile, policyFileName } from "./find-policy-file.ts";
import { watchPolicyFile } from "./watch-policy-file.ts";

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
