import { statSync } from "node:fs";
import path from "node:path";
import { PalimpsestError } from "../errors.ts";
import { invalidPolicy } from "../policy/errors.ts";
import { environmentLayer, resolvePolicy, settingsLayer } from "../policy/layers.ts";
import { parseStrategyName } from "../policy/names.ts";
import type { Policy, PolicyLayer } from "../policy/schema.ts";
import { findPolicyFile, type PolicyFileSearch, policyFileName, readPolicyFile } from "./policy-file.ts";

export interface ConfigSources extends PolicyFileSearch {
	readonly settings?: readonly string[] | undefined;
}

export type Config = Awaited<ReturnType<typeof loadConfig>>;

export async function loadConfig(sources: ConfigSources) {
	return loadConfigOf(await findPolicyFile(sources), sources);
}

async function loadConfigOf(file: string | null, sources: ConfigSources) {
	const ofFile = file === null ? [] : [await readPolicyFile(file)];
	if (file !== null) refuseFoundCode(ofFile[0]?.compaction?.strategy, file, sources);
	// In order of precedence. The policy of a tool call goes on top.
	const layers: readonly PolicyLayer[] = [
		...ofFile,
		environmentLayer(sources.environment),
		settingsLayer(sources.settings ?? []),
	];
	return { policy: resolvePolicy(layers), layers, file };
}

/** A host starts its server in a project's folder, and opening somebody else's project must not run its code. */
function refuseFoundCode(strategy: string | undefined, file: string, search: PolicyFileSearch): void {
	if (strategy === undefined || parseStrategyName(strategy).kind !== "external") return;
	const isNamed = search.policyFile !== undefined || Boolean(search.environment.PALIMPSEST_POLICY);
	if (isNamed || path.dirname(file) !== path.resolve(search.workingDirectory)) return;
	throw invalidPolicy(file, [
		"compaction.strategy: module#Export and module:Class are code, and this file was found in the working directory, not named. Trust it by --policy FILE or PALIMPSEST_POLICY.",
	]);
}

export type PolicySource = Awaited<ReturnType<typeof createPolicySource>>;

/** Follows the policy file, or one that appears in the working directory. Throws as `loadConfig`, at the start only. */
export async function createPolicySource(
	options: ConfigSources & {
		readonly onError?: ((error: PalimpsestError) => void) | undefined;
		readonly intervalMilliseconds?: number | undefined;
	},
) {
	const found = await findPolicyFile(options);
	const watched = found ?? path.resolve(options.workingDirectory, policyFileName);
	const listeners = new Set<(policy: Policy) => void>();
	let closed = false;
	const report = (error: unknown): void => {
		if (closed) return;
		const typed = error instanceof PalimpsestError;
		options.onError?.(typed ? error : new PalimpsestError("internal", String(error), { cause: error }));
	};

	let config: Awaited<typeof first>;
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

	// Watch before the first read, so that no change in between is missed.
	const { intervalMilliseconds } = options;
	const onChange = () => void reload().catch(report);
	const endWatch = watchPolicyFile({ path: watched, onChange, onError: report, intervalMilliseconds });
	const close = (): void => {
		closed = true;
		endWatch();
	};
	const first = found === null ? loadConfig(options) : loadConfigOf(found, options);
	config = await first.catch((error: unknown) => {
		close();
		throw error;
	});
	return {
		current: () => config.policy,
		layers: () => config.layers,
		file: () => config.file,
		onChange(listener: (policy: Policy) => void): () => void {
			listeners.add(listener);
			return () => listeners.delete(listener);
		},
		/** The policy in force stays readable. */
		close,
	};
}

/** By polling, which works on network drives. A changed file is reported once it has rested for one interval. */
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
		// Equal twice in a row: the file is neither half written nor between a delete and a rename.
		const rested = now === last;
		last = now;
		if (!rested || now === told) return;
		told = now;
		if (!now.startsWith("missing")) watch.onChange();
		else watch.onError(new PalimpsestError("unreadable_file", `The policy file ${watch.path} is gone (${now}).`));
	}, watch.intervalMilliseconds ?? 500).unref();
	return () => clearInterval(timer);
}

function fingerprint(path: string): string {
	try {
		const { dev, ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
		return [dev, ino, size, mtimeNs, ctimeNs].join(":");
	} catch (error) {
		return `missing: ${(error as NodeJS.ErrnoException).code}`;
	}
}
