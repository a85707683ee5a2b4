import { isUtf8 } from "node:buffer";
import { readFile, stat } from "node:fs/promises";
import { homedir } from "node:os";
import path from "node:path";
import { PalimpsestError } from "../errors.ts";
import { watchFile } from "../files/watch.ts";
import { invalidPolicy } from "../policy/errors.ts";
import { type Environment, resolvePolicy } from "../policy/layers.ts";
import { parseStrategyName } from "../policy/names.ts";
import type { Policy, PolicyLayer } from "../policy/schema.ts";

export interface ConfigSources extends PolicyFileSearch {
	readonly settings?: readonly string[] | undefined;
}

export type Config = Awaited<ReturnType<typeof loadConfig>>;

export async function loadConfig(sources: ConfigSources) {
	return loadConfigOf(await findPolicyFile(sources), sources);
}

async function loadConfigOf(file: string | null, sources: ConfigSources) {
	// Hooks mostly find no policy file, and then need neither the parser nor the schema.
	const { environmentLayer, resolvePolicy, settingsLayer } = await import("../policy/layers.ts");
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
	const onGone = (code: string) =>
		report(new PalimpsestError("unreadable_file", `The policy file ${watched} was removed (${code}).`));
	const endWatch = watchFile({ path: watched, onChange, onGone, intervalMilliseconds });
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
		/** Stops watching. The last policy stays readable. */
		close,
	};
}

export interface PolicyFileSearch {
	/** The file of the flag. Relative to `workingDirectory`; `~/` is the home folder. */
	readonly policyFile?: string | undefined;
	readonly environment: Environment;
	readonly workingDirectory: string;
	readonly home?: string | undefined;
	readonly platform?: NodeJS.Platform | undefined;
}

const policyFileName = "palimpsest.toml";

/** The file of the flag or of `PALIMPSEST_POLICY`, unchecked; else an existing one in the working or configuration folder. */
export async function findPolicyFile(search: PolicyFileSearch): Promise<string | null> {
	const { environment, workingDirectory, home = homedir(), platform = process.platform } = search;
	const named = search.policyFile ?? (environment.PALIMPSEST_POLICY || undefined);
	if (named !== undefined) {
		return path.resolve(workingDirectory, /^~[/\\]/.test(named) ? path.join(home, named.slice(2)) : named);
	}
	const ofUser = (platform === "win32" ? environment.APPDATA : environment.XDG_CONFIG_HOME) ?? "";
	// The XDG specification says to ignore relative paths.
	const configuration = path.isAbsolute(ofUser) ? ofUser : path.join(home, ".config");
	for (const folder of [workingDirectory, path.join(configuration, "palimpsest")]) {
		const candidate = path.resolve(folder, policyFileName);
		try {
			await stat(candidate);
			return candidate;
		} catch (error) {
			if (!isMissing(error)) throw unreadable(candidate, String((error as NodeJS.ErrnoException).code), error);
		}
	}
	return null;
}

const mostBytes = 1_000_000;

/** Throws `unreadable_file` (missing, not a regular file, no permission, over 1 MB) or `invalid_policy`. */
export async function readPolicyFile(file: string): Promise<PolicyLayer> {
	const bytes = await readBytes(file);
	if (!isUtf8(bytes)) throw invalidPolicy(file, ["not UTF-8 text"]);
	const { parsePolicyText } = await import("../policy/layers.ts");
	return parsePolicyText(new TextDecoder().decode(bytes), file);
}

async function readBytes(file: string): Promise<Uint8Array> {
	try {
		const about = await stat(file);
		if (!about.isFile()) throw unreadable(file, about.isDirectory() ? "it is a folder" : "it is not a regular file");
		if (about.size > mostBytes) throw unreadable(file, `it has ${about.size} bytes, at most ${mostBytes} are read`);
		return await readFile(file);
	} catch (error) {
		if (error instanceof PalimpsestError) throw error;
		const reason = isMissing(error) ? "there is no such file" : String((error as NodeJS.ErrnoException).code);
		throw unreadable(file, reason, error);
	}
}

const isMissing = (error: unknown) => ["ENOENT", "ENOTDIR"].includes(String((error as NodeJS.ErrnoException).code));

function unreadable(file: string, reason: string, cause?: unknown): PalimpsestError {
	return new PalimpsestError("unreadable_file", `Cannot read the policy file ${file}: ${reason}.`, { cause });
}

/** The policy of a proxy, a plugin or a rescue starts from `balanced`, which acts only when that pays, unless a preset is named. */
export function continuousPolicy({ layers }: Pick<Config, "layers">): Policy {
	return resolvePolicy([{ preset: "balanced" }, ...layers]);
}
