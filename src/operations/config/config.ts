import { isUtf8 } from "node:buffer";
import { readFile, stat } from "node:fs/promises";
import { homedir } from "node:os";
import path from "node:path";
import { invalidPolicy } from "../../engine/policy/errors.ts";
import type { IgnoredField } from "../../engine/policy/found.ts";
import { type Environment, resolvePolicy } from "../../engine/policy/layers.ts";
import type { Policy, PolicyLayer } from "../../engine/policy/schema.ts";
import { PalimpsestError } from "../../errors.ts";
import { watchFile } from "../../storage/files/watch.ts";
import { languageOfReader } from "./reader.ts";

export interface ConfigSources extends PolicyFileSearch {
	readonly settings?: readonly string[] | undefined;
	/** The process also works for folders other than its own, so that a file found in its own does not count. */
	readonly servesOthers?: boolean | undefined;
}

export interface Config {
	readonly policy: Policy;
	/** In order of precedence. The policy of a tool call goes on top. */
	readonly layers: readonly PolicyLayer[];
	/** The file that the user has named, or else that of the user's own folder. Modules are resolved from its folder. */
	readonly file: string | null;
	/** The file in the working folder, if the user has named none. */
	readonly found: string | null;
	/** What the found file sets without effect. */
	readonly ignored: readonly IgnoredField[];
}

export async function loadConfig(sources: ConfigSources): Promise<Config> {
	const files = await findPolicyFiles(sources);
	const own = files.file === null ? undefined : await readPolicyFile(files.file);
	return configOf({ ...files, own, ofFound: await readFound(files.found, sources) }, sources);
}

/** Where nothing of a found file counts, a broken one stops nothing either. */
async function readFound(
	found: string | null,
	{ servesOthers = false }: ConfigSources,
): Promise<PolicyLayer | undefined> {
	if (found === null) return undefined;
	const reading = readPolicyFile(found);
	return servesOthers ? reading.catch(() => undefined) : reading;
}

interface ReadFiles extends PolicyFiles {
	readonly own: PolicyLayer | undefined;
	readonly ofFound: PolicyLayer | undefined;
}

async function configOf({ file, found, own, ofFound }: ReadFiles, sources: ConfigSources): Promise<Config> {
	// Hooks mostly find no policy file, and then need neither the parser nor the schema.
	const { environmentLayer, resolvePolicy, settingsLayer } = await import("../../engine/policy/layers.ts");
	const counting = ofFound && (await import("../../engine/policy/found.ts")).foundPart(ofFound, sources);
	const reader = languageOfReader(sources.environment, sources.platform);
	const layers: readonly PolicyLayer[] = [
		...(reader === undefined ? [] : [{ reader }]),
		...(own ? [own] : []),
		...(counting ? [counting.layer] : []),
		environmentLayer(sources.environment),
		settingsLayer(sources.settings ?? []),
	];
	return { policy: resolvePolicy(layers), layers, file, found, ignored: counting?.ignored ?? [] };
}

/** One line on the fields that a found file sets without effect; `undefined` if there are none. */
export function ignoredWarning({ found, ignored }: Pick<Config, "found" | "ignored">): string | undefined {
	if (ignored.length === 0) return undefined;
	const keys = ignored.map(({ key }) => key).join(", ");
	return `${found} sets ${keys} without effect, since nobody has named the file. \`palimpsest policy check\` says why; --policy FILE or PALIMPSEST_POLICY names it.`;
}

/** The policy in force, which follows its files. */
export type PolicySource = Awaited<ReturnType<typeof createPolicySource>>;

/** Follows the policy files, also those that appear later. Throws as `loadConfig`, at the start only. */
export async function createPolicySource(
	options: ConfigSources & {
		readonly onError?: ((error: PalimpsestError) => void) | undefined;
		/** Called with a line, at the start and whenever it changes. */
		readonly onIgnored?: ((warning: string) => void) | undefined;
		readonly intervalMilliseconds?: number | undefined;
	},
) {
	const listeners = new Set<(policy: Policy) => void>();
	let closed = false;
	const report = (error: unknown): void => {
		if (closed) return;
		const typed = error instanceof PalimpsestError;
		options.onError?.(typed ? error : new PalimpsestError("internal", String(error), { cause: error }));
	};
	let warned: string | undefined;
	const warn = (): void => {
		const warning = ignoredWarning(config);
		if (warning !== undefined && warning !== warned) options.onIgnored?.(warning);
		warned = warning;
	};

	const places = placesOf(options);
	// A file that is gone keeps its last layer: a user's redaction has to outlast an editor that renames.
	const layers: { own?: PolicyLayer; ofFound?: PolicyLayer | undefined } = {};
	const read = async (): Promise<Config> => {
		const { file, found } = await findPolicyFiles(options);
		if (file !== null) layers.own = await readPolicyFile(file);
		if (found !== null) layers.ofFound = await readFound(found, options);
		return configOf(
			{
				file: layers.own ? places.own : null,
				found: layers.ofFound ? places.found : null,
				own: layers.own,
				ofFound: layers.ofFound,
			},
			options,
		);
	};

	let config: Config;
	let latest = 0;
	const reload = async (): Promise<void> => {
		latest += 1;
		const turn = latest;
		await first;
		const next = await read();
		if (closed || turn !== latest) return;
		const isChanged = JSON.stringify(next.layers) !== JSON.stringify(config.layers);
		config = next;
		warn();
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
	const ends = [places.own, ...(places.found === null ? [] : [places.found])].map((watched) => {
		const onGone = (code: string) =>
			report(new PalimpsestError("unreadable_file", `The policy file ${watched} was removed (${code}).`));
		return watchFile({ path: watched, onChange, onGone, intervalMilliseconds });
	});
	const close = (): void => {
		closed = true;
		for (const end of ends) end();
	};
	const first = read();
	config = await first.catch((error: unknown) => {
		close();
		throw error;
	});
	warn();
	return {
		current: () => config.policy,
		layers: () => config.layers,
		file: () => config.file,
		found: () => config.found,
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

export type PolicyFiles = Pick<Config, "file" | "found">;

/** The file of the flag or of `PALIMPSEST_POLICY`, unchecked; else those that exist in the configuration and the working folder. */
export async function findPolicyFiles(search: PolicyFileSearch): Promise<PolicyFiles> {
	const { own, found, isNamed } = placesOf(search);
	if (isNamed) return { file: own, found };
	return { file: (await isThere(own)) ? own : null, found: found !== null && (await isThere(found)) ? found : null };
}

const policyFileName = "palimpsest.toml";

function placesOf(search: PolicyFileSearch): { own: string; found: string | null; isNamed: boolean } {
	const { environment, workingDirectory, home = homedir(), platform = process.platform } = search;
	const named = search.policyFile ?? (environment.PALIMPSEST_POLICY || undefined);
	if (named !== undefined) {
		const own = path.resolve(workingDirectory, /^~[/\\]/.test(named) ? path.join(home, named.slice(2)) : named);
		return { own, found: null, isNamed: true };
	}
	const ofUser = (platform === "win32" ? environment.APPDATA : environment.XDG_CONFIG_HOME) ?? "";
	// The XDG specification says to ignore relative paths.
	const configuration = path.isAbsolute(ofUser) ? ofUser : path.join(home, ".config");
	const own = path.resolve(configuration, "palimpsest", policyFileName);
	const found = path.resolve(workingDirectory, policyFileName);
	return { own, found: found === own ? null : found, isNamed: false };
}

async function isThere(file: string): Promise<boolean> {
	try {
		await stat(file);
		return true;
	} catch (error) {
		if (isMissing(error)) return false;
		throw unreadable(file, String((error as NodeJS.ErrnoException).code), error);
	}
}

const mostBytes = 1_000_000;

/** Throws `unreadable_file` (missing, not a regular file, no permission, over 1 MB) or `invalid_policy`. */
export async function readPolicyFile(file: string): Promise<PolicyLayer> {
	const bytes = await readBytes(file);
	if (!isUtf8(bytes)) throw invalidPolicy(file, ["not UTF-8 text"]);
	const { parsePolicyText } = await import("../../engine/policy/layers.ts");
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
