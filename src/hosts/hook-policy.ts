import { homedir } from "node:os";
import { findPolicyFile, loadConfig, type PolicyFileSearch } from "../config/config.ts";
import { isJsonObject } from "../conversation/json.ts";
import { readRegularFile } from "../files/access.ts";
import { valueAt } from "../policy/errors.ts";
import type { LocaleName, PresetName } from "../policy/names.ts";
import { presets } from "../policy/presets.ts";
import type { Policy } from "../policy/schema.ts";
import { excerptWordings } from "../policy/wordings.ts";
import { hosts } from "./hosts.ts";

type UsualPolicy = Pick<Policy, "locale" | "on_archive_failure" | "archive">;

export interface HookPolicy {
	readonly policy: UsualPolicy;
	readonly wholePolicy: () => Promise<Policy>;
}

/** If nothing sets a field, it uses the defaults: loading the schema takes longer than shortening a result. */
export async function hookPolicy(named: {
	readonly policyFile: string | undefined;
	readonly locale: string | undefined;
	readonly host: string;
}): Promise<HookPolicy> {
	const { policyFile, locale, host } = named;
	const { env } = process;
	const here = { environment: env, workingDirectory: process.cwd() };
	const ofServer = await serverLanguage(host);
	const wholePolicy = async () => {
		const settings = locale === undefined ? [] : [`locale=${locale}`];
		return (await loadConfig({ ...here, policyFile, settings, environment: { ...env, ...ofServer } })).policy;
	};
	const isUsual = policyFile === undefined && (await isPolicyUsual(here));
	const usual = isUsual ? usualPolicyIn({ ...ofServer, ...(locale && { PALIMPSEST_LOCALE: locale }) }) : undefined;
	return { policy: usual ?? (await wholePolicy()), wholePolicy };
}

/** The defaults of the schema; a test compares them. */
export const usualPolicy: UsualPolicy = {
	locale: "fr",
	on_archive_failure: "refuse",
	archive: { max_age_days: 30, max_bytes: 1_000_000_000, recall_hint: true, redact: [], redact_credentials: false },
};

/** A preset changes only the locale of the usual policy. `undefined` for unknown names, which the schema refuses. */
export function usualPolicyIn(variables: LanguageVariables): UsualPolicy | undefined {
	const { PALIMPSEST_PRESET: preset, PALIMPSEST_LOCALE: given } = variables;
	if (preset !== undefined && !Object.hasOwn(presets, preset)) return undefined;
	const ofPreset = preset === undefined ? undefined : presets[preset as PresetName].policy.locale;
	const locale = given ?? ofPreset ?? usualPolicy.locale;
	return Object.hasOwn(excerptWordings, locale) ? { ...usualPolicy, locale: locale as LocaleName } : undefined;
}

const otherVariables = /^PALIMPSEST_(?:ARCHIVE|TOOLS|NAMESPACE|AUTH_TOKENS|LLM_\w+)$/;

export async function isPolicyUsual(search: PolicyFileSearch): Promise<boolean> {
	const isSet = ([name, value]: [string, string | undefined]) =>
		name.startsWith("PALIMPSEST_") && !otherVariables.test(name) && value !== "";
	return !Object.entries(search.environment).some(isSet) && (await findPolicyFile(search)) === null;
}

const languageVariables = ["PALIMPSEST_PRESET", "PALIMPSEST_LOCALE"] as const;

type LanguageVariables = Readonly<Partial<Record<(typeof languageVariables)[number], string>>>;

/** The variable in which a host names the project; for other hosts it is the working directory. */
const projectVariables = new Map([
	["claude-code", "CLAUDE_PROJECT_DIR"],
	["gemini-cli", "GEMINI_PROJECT_DIR"],
]);

/** The language in the host's server entry. Empty if no file can be read: a hook never fails for it. */
export async function serverLanguage(hostName: string, folder = process.cwd()): Promise<LanguageVariables> {
	const { platform, env: environment } = process;
	const host = hosts.find(({ name }) => name === hostName);
	if (host === undefined) return {};
	const projectFolder = environment[projectVariables.get(hostName) ?? ""] || folder;
	const where = { platform, environment, homeFolder: homedir() };
	const ofProject = await settingsIn(host.file({ ...where, projectFolder }));
	const ofUser = await settingsIn(host.file(where));
	const entry = [
		valueAt(ofProject, host.key),
		// Claude Code's own command enters a server for one project in the user's file.
		valueAt(ofUser, ["projects", projectFolder, ...host.key]),
		valueAt(ofUser, host.key),
	].find(isJsonObject);
	const variables = entry?.env ?? entry?.environment;
	if (!isJsonObject(variables)) return {};
	const set = languageVariables.map((name) => [name, variables[name]] as const);
	return Object.fromEntries(set.filter(([, value]) => typeof value === "string" && value !== ""));
}

const mostBytes = 32 * 1024 * 1024;

async function settingsIn(file: string | undefined): Promise<unknown> {
	try {
		if (file === undefined) return undefined;
		const text = (await readRegularFile(file, mostBytes)).toString("utf8").replace(/^\uFEFF/, "");
		if (file.endsWith(".toml")) return (await import("smol-toml")).parse(text);
		try {
			return JSON.parse(text);
		} catch {
			// With comments. The parser for those is slower, and loaded for such files only.
			return (await import("../json-text/settings.ts")).readSettings(text);
		}
	} catch {
		return undefined;
	}
}
