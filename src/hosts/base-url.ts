import { readFile } from "node:fs/promises";
import path from "node:path";
import { parse as parseToml } from "smol-toml";
import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import { PalimpsestError } from "../errors.ts";
import { readSettings } from "../json-text/settings.ts";
import { type HostSurroundings, programFolder } from "./hosts.ts";

/** Base URLs of providers, by API. */
interface BaseUrls {
	readonly anthropic?: string;
	readonly openai?: string;
	readonly gemini?: string;
}

/** How a program reaches another base URL for one run; nothing of it outlasts the run. */
export interface Pointing {
	/** The providers that it would use without us: its own settings, or the provider's address. */
	readonly upstreams: BaseUrls;
	readonly environment: Readonly<Record<string, string>>;
	/** Before the arguments of the user. */
	readonly parameters: readonly string[];
	/** Text of temporary files by name, in `folder`. */
	readonly files: Readonly<Record<string, string>>;
}

export interface LaunchedProgram {
	readonly name: string;
	readonly title: string;
	readonly command: string;
	/** Its shell tool starts a login shell, which sets a PATH of its own. */
	readonly hasLoginShell?: true;
	/** Throws PalimpsestError `invalid_argument` if the program, as it is set up, cannot use a proxy. */
	readonly point: (where: LaunchSurroundings) => Promise<Pointing>;
}

interface LaunchSurroundings extends HostSurroundings {
	/** Of the proxy, such as http://127.0.0.1:41234. */
	readonly origin: string;
	/** For temporary files. */
	readonly folder: string;
}

const providers = {
	anthropic: "https://api.anthropic.com",
	openai: "https://api.openai.com/v1",
	gemini: "https://generativelanguage.googleapis.com",
} as const;

/** For programs whose own paths have no version. */
const versioned = {
	anthropic: `${providers.anthropic}/v1`,
	openai: providers.openai,
	gemini: `${providers.gemini}/v1beta`,
} as const;

const nothing = { environment: {}, parameters: [], files: {} } as const;

const rows: Readonly<Record<string, Omit<LaunchedProgram, "name">>> = {
	claude: { title: "Claude Code", command: "claude", point: pointClaudeCode },
	codex: { title: "Codex", command: "codex", point: pointCodex, hasLoginShell: true },
	opencode: { title: "opencode", command: "opencode", point: pointOpencode },
	gemini: { title: "Gemini CLI", command: "gemini", point: pointGeminiCli },
	pi: { title: "pi", command: "pi", point: pointPi },
	copilot: { title: "Copilot CLI", command: "copilot", point: pointCopilotCli },
	cline: { title: "Cline CLI", command: "cline", point: pointCline },
	aider: { title: "aider", command: "aider", point: pointAider },
};

/** The programs that `palimpsest launch` can start. */
export const launchedPrograms: readonly LaunchedProgram[] = Object.entries(rows).map(([name, row]) => ({
	name,
	...row,
}));

/** Source: https://code.claude.com/docs/en/llm-gateway. Settings files win over the environment, flags over both. */
async function pointClaudeCode(where: LaunchSurroundings): Promise<Pointing> {
	const { environment, origin } = where;
	for (const name of ["CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"]) {
		if (isOn(environment[name]))
			throw refused("Claude Code", `${name} is set, and the proxy cannot read its requests. Unset it`);
	}
	const ofSettings = await claudeSettingsEnvironment(where);
	const set = {
		ANTHROPIC_BASE_URL: origin,
		// Claude Code sends every tool's schema to any other address, unless told.
		...(environment.ENABLE_TOOL_SEARCH || ofSettings.ENABLE_TOOL_SEARCH ? {} : { ENABLE_TOOL_SEARCH: "true" }),
	};
	const upstream = ofSettings.ANTHROPIC_BASE_URL ?? environment.ANTHROPIC_BASE_URL;
	return {
		...nothing,
		upstreams: { anthropic: upstream || providers.anthropic },
		environment: set,
		parameters: ofSettings.ANTHROPIC_BASE_URL === undefined ? [] : ["--settings", JSON.stringify({ env: set })],
	};
}

async function claudeSettingsEnvironment(
	where: LaunchSurroundings,
): Promise<Readonly<Record<string, string | undefined>>> {
	const ofProject = path.join(where.projectFolder ?? ".", ".claude");
	const files = [
		path.join(programFolder("claude-code", where), "settings.json"),
		path.join(ofProject, "settings.json"),
		path.join(ofProject, "settings.local.json"),
	];
	const settings = await Promise.all(files.map(readJsonSettings));
	return Object.assign({}, ...settings.map(({ env }) => (isJsonObject(env) ? env : {})));
}

/** Source: https://developers.openai.com/codex/config-reference (`openai_base_url`, `model_providers`). */
async function pointCodex(where: LaunchSurroundings): Promise<Pointing> {
	const { environment, origin } = where;
	const folder = programFolder("codex", where);
	const config = await readTomlSettings(path.join(folder, "config.toml"));
	const profile = textAt(config, ["profiles", textOf(config.profile) ?? "", "model_provider"]);
	const name = profile ?? textOf(config.model_provider) ?? "openai";
	const custom = isJsonObject(config.model_providers) ? config.model_providers[name] : undefined;
	if (isJsonObject(custom)) {
		const upstream = textOf(custom.base_url) ?? providers.openai;
		const setting = `model_providers.${name}.base_url=${JSON.stringify(withVersionOf(upstream, origin))}`;
		return { ...nothing, upstreams: { openai: upstream }, parameters: ["-c", setting] };
	}
	if (name !== "openai")
		throw refused("Codex", `its provider is ${name}, whose address cannot be set. Choose another one`);
	const signIn = await readJsonSettings(path.join(folder, "auth.json"));
	const hasKey = textOf(signIn.OPENAI_API_KEY) !== undefined || environment.CODEX_API_KEY || environment.OPENAI_API_KEY;
	if (signIn.tokens && !hasKey) {
		const reason =
			"it is signed in with ChatGPT, and then takes no other address. Sign in with a key (codex login --with-api-key)";
		throw refused("Codex", reason);
	}
	const upstream = textOf(config.openai_base_url) ?? (environment.OPENAI_BASE_URL || providers.openai);
	const setting = `openai_base_url=${JSON.stringify(withVersionOf(upstream, origin))}`;
	return { ...nothing, upstreams: { openai: upstream }, parameters: ["-c", setting] };
}

/** Source: https://opencode.ai/docs/config (`OPENCODE_CONFIG_CONTENT` is laid over every file). */
async function pointOpencode(where: LaunchSurroundings): Promise<Pointing> {
	const { environment, origin, projectFolder = "." } = where;
	const files = [programFolder("opencode", where), projectFolder].flatMap((at) =>
		["opencode.json", "opencode.jsonc"].map((name) => path.join(at, name)),
	);
	if (environment.OPENCODE_CONFIG) files.splice(2, 0, environment.OPENCODE_CONFIG);
	const settings = await Promise.all(files.map(readJsonSettings));
	const inline = readSettings(environment.OPENCODE_CONFIG_CONTENT ?? "");
	const bases = { anthropic: versioned.anthropic, openai: versioned.openai, google: versioned.gemini };
	const named = Object.entries(bases).map(([name, usual]) => {
		const found = [...settings, inline].map((one) => textAt(one, ["provider", name, "options", "baseURL"]));
		const variable = name === "google" ? undefined : environment[`${name.toUpperCase()}_BASE_URL`];
		return [name, found.findLast((url) => url !== undefined) ?? (variable || usual)] as const;
	});
	const provider = Object.fromEntries(
		named.map(([name, base]) => [name, { options: { baseURL: withVersionOf(base, origin) } }]),
	);
	const [anthropic = "", openai = "", gemini = ""] = named.map(([, base]) => base);
	return {
		...nothing,
		upstreams: { anthropic, openai, gemini },
		environment: { OPENCODE_CONFIG_CONTENT: JSON.stringify(laidOver(inline, { provider })) },
	};
}

/** Source: https://github.com/google-gemini/gemini-cli, `createContentGenerator` and `validateAuthMethod`. */
async function pointGeminiCli({
	homeFolder,
	projectFolder = ".",
	environment,
	origin,
}: LaunchSurroundings): Promise<Pointing> {
	const files = [homeFolder, projectFolder].map((at) => path.join(at, ".gemini", "settings.json"));
	const settings = await Promise.all(files.map(readJsonSettings));
	const chosen = settings.map((one) => textAt(one, ["security", "auth", "selectedType"]));
	const signIn =
		chosen.findLast((type) => type !== undefined) ??
		(isOn(environment.GOOGLE_GENAI_USE_GCA) ? "oauth-personal" : undefined) ??
		(isOn(environment.GOOGLE_GENAI_USE_VERTEXAI) ? "vertex-ai" : undefined) ??
		(environment.GOOGLE_GEMINI_BASE_URL ? "gateway" : undefined);
	if (signIn === undefined) {
		// With an address and no choice it takes the sign-in `gateway`, which it then refuses itself.
		const reason =
			'it takes another address only where a sign-in is chosen. Choose a Gemini API key (/auth, or "security": {"auth": {"selectedType": "gemini-api-key"}} in ~/.gemini/settings.json)';
		throw refused("Gemini CLI", reason);
	}
	if (signIn !== "gemini-api-key" && signIn !== "gateway") {
		throw refused(
			"Gemini CLI",
			`its sign-in is ${signIn}, which takes no other address. Choose a Gemini API key (/auth)`,
		);
	}
	return {
		...nothing,
		upstreams: { gemini: environment.GOOGLE_GEMINI_BASE_URL || providers.gemini },
		environment: { GOOGLE_GEMINI_BASE_URL: origin },
	};
}

/** pi's own settings hold keys and sessions, so an extension of this run changes the addresses alone (docs/custom-provider.md of pi). */
async function pointPi(where: LaunchSurroundings): Promise<Pointing> {
	const { origin, folder } = where;
	const models = await readJsonSettings(path.join(programFolder("pi", where), "models.json"));
	const bases = { anthropic: providers.anthropic, openai: providers.openai, google: versioned.gemini };
	const named = Object.entries(bases).map(
		([name, usual]) => [name, textAt(models, ["providers", name, "baseUrl"]) ?? usual] as const,
	);
	const [anthropic = "", openai = "", gemini = ""] = named.map(([, base]) => base);
	const calls = named.map(
		([name, base]) => `\tpi.registerProvider("${name}", { baseUrl: "${withVersionOf(base, origin)}" });\n`,
	);
	const file = "palimpsest-proxy.js";
	return {
		...nothing,
		upstreams: { anthropic, openai, gemini },
		parameters: ["--extension", path.join(folder, file)],
		files: { [file]: `export default function (pi) {\n${calls.join("")}}\n` },
	};
}

/** Source: `copilot help providers`. GitHub's own models have no address that can be set. */
async function pointCopilotCli({ environment, origin }: LaunchSurroundings): Promise<Pointing> {
	const { COPILOT_PROVIDER_BASE_URL: base, COPILOT_PROVIDER_TYPE: type } = environment;
	if (!base) {
		const reason =
			"only its own-provider mode takes an address. Set COPILOT_PROVIDER_BASE_URL and COPILOT_PROVIDER_API_KEY";
		throw refused("Copilot CLI", reason);
	}
	return {
		...nothing,
		upstreams: type === "anthropic" ? { anthropic: base } : { openai: base },
		// The proxy reads requests, and no WebSocket.
		environment: { COPILOT_PROVIDER_BASE_URL: withVersionOf(base, origin), COPILOT_PROVIDER_TRANSPORT: "http" },
	};
}

/** Source: https://github.com/cline/cline/blob/main/sdk/packages/shared/src/storage/paths.ts (`CLINE_PROVIDER_SETTINGS_PATH`). */
async function pointCline({ homeFolder, environment, origin, folder }: LaunchSurroundings): Promise<Pointing> {
	const data =
		environment.CLINE_DATA_DIR || path.join(environment.CLINE_DIR || path.join(homeFolder, ".cline"), "data");
	const settings = await readJsonSettings(
		environment.CLINE_PROVIDER_SETTINGS_PATH || path.join(data, "settings", "providers.json"),
	);
	const name = textOf(settings.lastUsedProvider) ?? "cline";
	const api = ({ anthropic: "anthropic", gemini: "gemini" } as const)[name] ?? "openai";
	const isOwn = ["anthropic", "gemini", "openai-native", "openai-compatible"].includes(name);
	if (!isOwn) {
		const reason = `its provider is ${name}, whose address cannot be set. Choose openai-compatible, anthropic or gemini with a key of your own (cline auth)`;
		throw refused("Cline CLI", reason);
	}
	const place = ["providers", name, "settings", "baseUrl"];
	const base = textAt(settings, place) ?? versioned[api];
	const file = "providers.json";
	const pointed = { providers: { [name]: { settings: { baseUrl: withVersionOf(base, origin) } } } };
	return {
		...nothing,
		upstreams: { [api]: base },
		environment: {
			CLINE_PROVIDER_SETTINGS_PATH: path.join(folder, file),
			// A server of Cline's that outlasts this run would have another address.
			CLINE_SESSION_BACKEND_MODE: "local",
		},
		files: { [file]: JSON.stringify(laidOver(settings, pointed)) },
	};
}

/** Source: https://aider.chat/docs/llms/openai-compat.html and LiteLLM's `ANTHROPIC_API_BASE`. Gemini's address cannot be set. */
async function pointAider({ environment, origin }: LaunchSurroundings): Promise<Pointing> {
	const openai = environment.OPENAI_API_BASE || environment.OPENAI_BASE_URL || providers.openai;
	const anthropic = environment.ANTHROPIC_API_BASE || environment.ANTHROPIC_BASE_URL || providers.anthropic;
	return {
		...nothing,
		upstreams: { openai, anthropic },
		environment: {
			OPENAI_API_BASE: withVersionOf(openai, origin),
			OPENAI_BASE_URL: withVersionOf(openai, origin),
			ANTHROPIC_API_BASE: withVersionOf(anthropic, origin),
		},
	};
}

/** The proxy's address with the version that ends the address of the provider: programs append the paths of their requests. */
function withVersionOf(base: string, origin: string): string {
	return origin + (/\/v1\w*(?=\/*$)/.exec(base)?.[0] ?? "");
}

function isOn(value: string | undefined): boolean {
	return value !== undefined && !/^(?:|0|false)$/i.test(value);
}

function refused(title: string, reason: string): PalimpsestError {
	return new PalimpsestError("invalid_argument", `${title} cannot be started behind a proxy: ${reason}.`);
}

/** `{}` for a file that is absent or that the program itself could not read. */
async function readJsonSettings(file: string): Promise<JsonObject> {
	try {
		return readSettings(await readFile(file, "utf8"));
	} catch {
		return {};
	}
}

async function readTomlSettings(file: string): Promise<JsonObject> {
	try {
		return parseToml(await readFile(file, "utf8")) as JsonObject;
	} catch {
		return {};
	}
}

function textOf(value: unknown): string | undefined {
	return typeof value === "string" && value !== "" ? value : undefined;
}

function textAt(value: unknown, key: readonly string[]): string | undefined {
	return textOf(key.reduce<unknown>((at, name) => (isJsonObject(at) ? at[name] : undefined), value));
}

/** Lays one object over another, member by member. */
function laidOver(below: JsonObject, above: JsonObject): JsonObject {
	const merged: Record<string, unknown> = { ...below };
	for (const [name, value] of Object.entries(above)) {
		const old = merged[name];
		merged[name] = isJsonObject(old) && isJsonObject(value) ? laidOver(old, value) : value;
	}
	return merged;
}
