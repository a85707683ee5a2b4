import path from "node:path";
import { isDeepStrictEqual, parseEnv } from "node:util";
import { isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import { listOf, objectOf } from "../formats/json-text/value.ts";
import {
	isOn,
	laidOver,
	nothingSet,
	optionIn,
	optionsGiven,
	providers,
	refusedLaunch,
	sharedUpstreams,
	textAt,
	textOf,
	withoutOptions,
} from "./base-url.ts";
import type { Host, LaunchSurroundings, Pointing, UpstreamApi } from "./host.ts";
import { projectEnvFile, settingsIn, textIn } from "./settings-file.ts";

export const qwenCode: Host = {
	name: "qwen-code",
	title: "Qwen Code",
	launch: {
		command: "qwen",
		point,
		headless: (prompt) => [
			...["--prompt", prompt, "--approval-mode", "auto-edit"],
			...["--allowed-tools", "run_shell_command(palimpsest recall)"],
		],
	},
};

/** By the kind of sign-in, which is also the protocol of a provider. */
const protocols: Readonly<Record<string, Protocol | undefined>> = {
	openai: { api: "openai", variable: "OPENAI_BASE_URL" },
	"openai-responses": { api: "openai", variable: "OPENAI_BASE_URL" },
	anthropic: { api: "anthropic", variable: "ANTHROPIC_BASE_URL" },
	gemini: { api: "gemini", variable: "GOOGLE_GEMINI_BASE_URL" },
};

interface Protocol {
	readonly api: keyof typeof providers;
	readonly variable: string;
}

/**
 * A provider of its settings wins over the environment, and the settings of the system over all other files, so these are copied
 * with other addresses. They hold the names of variables with keys, no key. Sources:
 * https://qwenlm.github.io/qwen-code-docs/en/users/configuration/settings, `resolveModelConfig` of Qwen Code 0.24.
 */
async function point(where: LaunchSurroundings): Promise<Pointing> {
	if (await isTrusted(where)) return pointBy(where, { withProject: true });
	// It does not read the folder's files before its user trusts the folder, which must not choose who gets the key.
	const own = await pointBy(where, { withProject: false });
	if (isDeepStrictEqual(await pointBy(where, { withProject: true }), own)) return own;
	const reason =
		"files of this folder (.env, .qwen) choose where its requests go, and Qwen Code does not trust the folder. Trust it there (/trust), or remove them";
	throw refusedLaunch(qwenCode.title, reason);
}

interface Sources {
	/** Whether files of the folder that it works in count. */
	readonly withProject: boolean;
}

/** Every folder where `security.folderTrust` is off, which is usual. Source: `isWorkspaceTrusted` of Qwen Code 0.24. */
async function isTrusted(where: LaunchSurroundings): Promise<boolean> {
	const { merged } = await settingsOf(where, { withProject: false });
	if (objectOf(objectOf(merged.security).folderTrust).enabled !== true) return true;
	const file = where.environment.QWEN_CODE_TRUSTED_FOLDERS_PATH || path.join(ownFolder(where), "trustedFolders.json");
	const folder = path.resolve(where.projectFolder ?? ".");
	return Object.entries(await settingsIn(file)).some(([name, level]) => {
		if (level !== "TRUST_FOLDER" && level !== "TRUST_PARENT") return false;
		const way = path.relative(level === "TRUST_PARENT" ? path.dirname(name) : name, folder);
		return way !== ".." && !way.startsWith(`..${path.sep}`) && !path.isAbsolute(way);
	});
}

async function pointBy(where: LaunchSurroundings, sources: Sources): Promise<Pointing> {
	const { origin, folder } = where;
	const { ofSystem, merged } = await settingsOf(where, sources);
	const variables = await variablesOf(where, { merged, ...sources });
	const given = where.parameters;
	const chosenType = optionIn(given, "--auth-type", "--authType");
	const type = chosenType ?? textAt(merged, ["security", "auth", "selectedType"]) ?? typeOfVariables(variables);
	const protocol = type === undefined ? undefined : protocols[type];
	if (protocol === undefined) {
		const reason =
			type === undefined ? "it has no chosen sign-in" : `its sign-in is ${type}, which takes no other address`;
		throw refusedLaunch(qwenCode.title, `${reason}. Choose a key of your own (/auth)`);
	}
	const { api, variable } = protocol;
	// A flag wins over the environment, not over a provider of the settings.
	const flags = optionsGiven(given, "--openai-base-url", "--openaiBaseUrl");
	const ofFiles = variables[variable] || textAt(merged, ["security", "auth", "baseUrl"]);
	const usual = flags.at(-1)?.value || ofFiles || providers[api];
	const ownParameters = withoutOptions(given, flags);
	const models = modelsOf(merged);
	const chosen = chosenModel(models, {
		type,
		name: optionIn(given, "-m", "--model"),
		model: objectOf(merged.model),
	});
	const { upstreams, pointed } = sharedUpstreams(
		[
			{ api, base: chosen?.base ?? usual },
			...models.flatMap((one) => (one.base === undefined ? [] : [{ api: one.api, base: one.base }])),
		],
		origin,
	);
	const environment = { [variable]: pointed({ api, base: usual }) };
	if (!models.some(({ base }) => base !== undefined)) return { ...nothingSet, upstreams, environment, ownParameters };
	const file = "qwen-settings.json";
	const persisted = textAt(merged, ["model", "baseUrl"]);
	const copy = laidOver(ofSystem, {
		modelProviders: providersWith(merged, (baseUrl, of) => pointed({ api: of, base: baseUrl })),
		...(persisted === undefined ? {} : { model: { baseUrl: pointed({ api, base: persisted }) } }),
	});
	return {
		...nothingSet,
		upstreams,
		environment: {
			...environment,
			QWEN_CODE_SYSTEM_SETTINGS_PATH: path.join(folder, file),
			QWEN_CODE_SYSTEM_DEFAULTS_PATH: systemFiles(where).defaults,
		},
		files: { [file]: JSON.stringify(copy) },
		ownParameters,
	};
}

function ownFolder({ homeFolder, environment }: LaunchSurroundings): string {
	return environment.QWEN_HOME || path.join(homeFolder, ".qwen");
}

function systemFiles({ platform, environment }: LaunchSurroundings) {
	const usual = {
		darwin: "/Library/Application Support/QwenCode/settings.json",
		win32: "C:\\ProgramData\\qwen-code\\settings.json",
	} as Readonly<Record<string, string | undefined>>;
	const settings = environment.QWEN_CODE_SYSTEM_SETTINGS_PATH || (usual[platform] ?? "/etc/qwen-code/settings.json");
	const defaults =
		environment.QWEN_CODE_SYSTEM_DEFAULTS_PATH || path.join(path.dirname(settings), "system-defaults.json");
	return { settings, defaults };
}

async function settingsOf(where: LaunchSurroundings, { withProject }: Sources) {
	const { settings, defaults } = systemFiles(where);
	const inProject = path.join(where.projectFolder ?? ".", ".qwen", "settings.json");
	const ofUser = path.join(ownFolder(where), "settings.json");
	const files = [defaults, ofUser, ...(withProject ? [inProject] : []), settings];
	const read = await Promise.all(files.map(settingsIn));
	const merged = read.reduce((below, above) => {
		// The list of providers is replaced as a whole.
		const { modelProviders = below.modelProviders } = above;
		const both = laidOver(below, above);
		return modelProviders === undefined ? both : { ...both, modelProviders };
	}, {});
	return { ofSystem: read.at(-1) ?? {}, merged };
}

/** The shell's variables win over the first `.env` on the way up, that over those of the home folder, and all over the settings. */
async function variablesOf(
	where: LaunchSurroundings,
	{ merged, withProject }: Sources & { readonly merged: JsonObject },
) {
	const found = withProject ? await projectEnvFile(where, ".qwen") : undefined;
	const ofHome = [path.join(ownFolder(where), ".env"), path.join(where.homeFolder, ".env")];
	const texts = await Promise.all([...ofHome.reverse(), ...(found === undefined ? [] : [found])].map(textIn));
	const { env } = merged;
	const ofFiles = texts.map((text = "") => parseEnv(text));
	return Object.assign({}, isJsonObject(env) ? env : {}, ...ofFiles, where.environment) as Readonly<
		Record<string, string | undefined>
	>;
}

function typeOfVariables(variables: Readonly<Record<string, string | undefined>>): string | undefined {
	const { OPENAI_API_KEY, OPENAI_MODEL, QWEN_MODEL, OPENAI_BASE_URL } = variables;
	if (isOn(variables.QWEN_OAUTH)) return "qwen-oauth";
	if (OPENAI_API_KEY && (OPENAI_MODEL || QWEN_MODEL) && OPENAI_BASE_URL) return "openai";
	if (variables.GEMINI_API_KEY && variables.GEMINI_MODEL) return "gemini";
	if ((variables.GOOGLE_API_KEY || variables.GOOGLE_CLOUD_PROJECT) && variables.GOOGLE_MODEL) return "vertex-ai";
	const { ANTHROPIC_API_KEY, ANTHROPIC_MODEL, ANTHROPIC_BASE_URL } = variables;
	return ANTHROPIC_API_KEY && ANTHROPIC_MODEL && ANTHROPIC_BASE_URL ? "anthropic" : undefined;
}

interface Model {
	readonly type: string;
	readonly api: UpstreamApi;
	readonly id: string | undefined;
	readonly base: string | undefined;
}

function typeOf(merged: JsonObject, provider: string): string {
	return textAt(merged, ["providerProtocol", provider]) ?? provider;
}

function modelsOf(merged: JsonObject): Model[] {
	return Object.entries(objectOf(merged.modelProviders)).flatMap(([provider, models]) => {
		const type = typeOf(merged, provider);
		const api = protocols[type]?.api;
		if (api === undefined) return [];
		return listOf(models).map((one) => ({ type, api, id: textAt(one, ["id"]), base: textAt(one, ["baseUrl"]) }));
	});
}

function chosenModel(
	models: readonly Model[],
	{
		type,
		name,
		model,
	}: { readonly type: string | undefined; readonly name: string | undefined; readonly model: JsonObject },
): Model | undefined {
	const named = models.filter((one) => one.type === type && one.id === (name ?? model.name));
	const persisted = name === undefined ? textOf(model.baseUrl) : undefined;
	return named.find(({ base }) => base === persisted) ?? named[0];
}

function providersWith(merged: JsonObject, addressFor: (baseUrl: string, api: UpstreamApi) => string): JsonObject {
	return Object.fromEntries(
		Object.entries(objectOf(merged.modelProviders)).map(([provider, models]) => {
			const api = protocols[typeOf(merged, provider)]?.api;
			if (api === undefined || !Array.isArray(models)) return [provider, models];
			const pointed = models.map((one: unknown) => {
				const baseUrl = textAt(one, ["baseUrl"]);
				return baseUrl === undefined ? one : { ...objectOf(one), baseUrl: addressFor(baseUrl, api) };
			});
			return [provider, pointed];
		}),
	);
}
