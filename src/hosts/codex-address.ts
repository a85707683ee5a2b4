import path from "node:path";
import { isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import { objectOf } from "../formats/json-text/value.ts";
import {
	beforeDashes,
	laidOver,
	nothingSet,
	optionIn,
	optionsGiven,
	providers,
	refusedLaunch,
	textOf,
	withoutOptions,
	withVersionOf,
} from "./base-url.ts";
import type { HostSurroundings, LaunchSurroundings, Pointing } from "./host.ts";
import { settingsIn } from "./settings-file.ts";

/** Where requests of a ChatGPT sign-in go. Source: `to_api_provider` in codex-rs/model-provider-info of https://github.com/openai/codex. */
const backend = "https://chatgpt.com/backend-api/codex";

/** The folder of its own settings. */
export function ownFolder({ homeFolder, environment }: Pick<HostSurroundings, "homeFolder" | "environment">): string {
	return environment.CODEX_HOME || path.join(homeFolder, ".codex");
}

/**
 * Source: https://developers.openai.com/codex/config-reference (`openai_base_url`, `model_providers`, `requires_openai_auth`), and
 * Codex 0.171 itself.
 */
export async function point(where: LaunchSurroundings): Promise<Pointing> {
	const { upstream, key, byChatGpt } = await codexProvider(where);
	const set = { [key.join(".")]: withVersionOf(upstream, where.origin) };
	return pointed(where, upstream, byChatGpt ? { ...set, ...uncompressed } : set);
}

/** The address of the provider that Codex uses, and the setting that names it. */
export async function codexProvider(where: LaunchSurroundings): Promise<{
	readonly upstream: string;
	readonly key: readonly string[];
	readonly byChatGpt: boolean;
}> {
	const { parameters: given } = where;
	const config = await settingsOf(where);
	const local = beforeDashes(given).includes("--oss")
		? (optionIn(given, "--local-provider") ?? "a local one")
		: undefined;
	const name = local ?? textOf(config.model_provider) ?? "openai";
	const byChatGpt = await isSignedInWithChatGpt(where, config);
	const custom = isJsonObject(config.model_providers) ? config.model_providers[name] : undefined;
	if (isJsonObject(custom)) {
		if (name.includes("."))
			throw refusedLaunch("Codex", `no flag can name its provider ${name}, which has a point in its name. Rename it`);
		const usual = byChatGpt && custom.requires_openai_auth === true ? backend : providers.openai;
		return { upstream: textOf(custom.base_url) ?? usual, key: ["model_providers", name, "base_url"], byChatGpt };
	}
	if (name !== "openai")
		throw refusedLaunch("Codex", `the address of its provider (${name}) cannot be set. Choose another one`);
	// With this sign-in, Codex asks its backend for an address where the path is that of the backend. Ours has none.
	// Codex 0.171 does not read OPENAI_BASE_URL, which may be that of other programs.
	const usual = byChatGpt ? backend : providers.openai;
	return { upstream: textOf(config.openai_base_url) ?? usual, key: ["openai_base_url"], byChatGpt };
}

/** With a ChatGPT sign-in it compresses requests by zstd, which Node.js 20 cannot read. */
const compression = ["features", "enable_request_compression"] as const;
const uncompressed = { [compression.join(".")]: false };

/** Settings of Codex with this address of the provider, as `codexProvider` names it. */
export function settingsWith(
	settings: JsonObject,
	{ key, byChatGpt }: Pick<Awaited<ReturnType<typeof codexProvider>>, "key" | "byChatGpt">,
	address: string,
): JsonObject {
	const nested = (names: readonly string[], value: unknown) =>
		names.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as JsonObject;
	const pointed = laidOver(settings, nested(key, address));
	return byChatGpt ? laidOver(pointed, nested(compression, false)) : pointed;
}

function pointed(
	{ parameters: given }: LaunchSurroundings,
	upstream: string,
	set: Readonly<Record<string, string | boolean>>,
): Pointing {
	const keys = Object.keys(set);
	const parameters = Object.entries(set).flatMap(([key, value]) => ["-c", `${key}=${JSON.stringify(value)}`]);
	// Of two settings of a key the last one counts, and theirs come behind ours.
	const theirs = optionsGiven(given, ...configFlags).map((option) => ({ ...option, key: keyOf(option.value) }));
	const whole = theirs.find(({ key }) => keys.some((one) => one.startsWith(`${key}.`)));
	if (whole !== undefined) {
		const reason = `-c ${whole.key}=… sets a whole table. Set its members one by one, as in -c ${keys[0]}=…`;
		throw refusedLaunch("Codex", reason);
	}
	const replaced = theirs.filter(({ key }) => keys.includes(key));
	return {
		...nothingSet,
		upstreams: { openai: upstream },
		parameters,
		ownParameters: withoutOptions(given, replaced),
	};
}

const configFlags = ["-c", "--config"];

const keyOf = (setting: string) => (/^[^=]*/.exec(setting)?.[0] ?? "").trim();

/** Its file, the profile over it, and the settings of the command line over both. */
async function settingsOf(where: LaunchSurroundings): Promise<JsonObject> {
	const folder = ownFolder(where);
	const config = await settingsIn(path.join(folder, "config.toml"));
	const profile = optionIn(where.parameters, "-p", "--profile") ?? textOf(config.profile);
	const inFile = profile === undefined ? {} : await settingsIn(path.join(folder, `${profile}.config.toml`));
	const ofProfile = objectOf(objectOf(config.profiles)[profile ?? ""]);
	const flags = await Promise.all(optionsGiven(where.parameters, ...configFlags).map(({ value }) => settingOf(value)));
	return [ofProfile, inFile, ...flags].reduce(laidOver, config);
}

/** `a.b=value`, where the value is TOML, or else a text. */
async function settingOf(flag: string): Promise<JsonObject> {
	const [, key = "", value = ""] = /^([^=]*)=(.*)$/s.exec(flag) ?? [];
	const { parse } = await import("smol-toml");
	for (const written of [value, JSON.stringify(value.trim())]) {
		try {
			return parse(`${key} = ${written}`);
		} catch {
			// The next form.
		}
	}
	return {};
}

/** A key in the environment counts for `codex exec` alone. A sign-in in the keyring of the system cannot be read. */
async function isSignedInWithChatGpt(where: LaunchSurroundings, config: JsonObject): Promise<boolean> {
	const { environment, parameters: given } = where;
	if (environment.CODEX_API_KEY && given.some((word) => word === "exec" || word === "e")) return false;
	const { auth_mode: mode, tokens, OPENAI_API_KEY: key } = await settingsIn(path.join(ownFolder(where), "auth.json"));
	const isStored = isJsonObject(tokens) || textOf(key) !== undefined;
	if (!isStored && config.cli_auth_credentials_store === "keyring" && config.forced_login_method === undefined) {
		const reason =
			'its sign-in is in the keyring, so its provider is not known. Set forced_login_method to "api" or "chatgpt" in config.toml';
		throw refusedLaunch("Codex", reason);
	}
	if (!isStored) return config.forced_login_method === "chatgpt";
	return typeof mode === "string" ? mode.toLowerCase() === "chatgpt" : textOf(key) === undefined;
}
