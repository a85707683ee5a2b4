import path from "node:path";
import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import { objectOf } from "../json-text/value.ts";
import {
	laidOver,
	nothingSet,
	optionIn,
	optionsIn,
	providers,
	refusedLaunch,
	textOf,
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
	const { environment, parameters: given } = where;
	const config = await settingsOf(where);
	const local = given.includes("--oss") ? (optionIn(given, "--local-provider") ?? "a local one") : undefined;
	const name = local ?? textOf(config.model_provider) ?? "openai";
	const byChatGpt = await isSignedInWithChatGpt(where, config);
	const custom = isJsonObject(config.model_providers) ? config.model_providers[name] : undefined;
	if (isJsonObject(custom)) {
		const usual = byChatGpt && custom.requires_openai_auth === true ? backend : providers.openai;
		const upstream = textOf(custom.base_url) ?? usual;
		const set = { [`model_providers.${name}.base_url`]: withVersionOf(upstream, where.origin) };
		return pointed(where, upstream, byChatGpt ? { ...set, ...uncompressed } : set);
	}
	if (name !== "openai")
		throw refusedLaunch("Codex", `the address of its provider (${name}) cannot be set. Choose another one`);
	// With this sign-in, Codex asks its backend for an address where the path is that of the backend. Ours has none.
	const usual = byChatGpt ? backend : environment.OPENAI_BASE_URL || providers.openai;
	const upstream = textOf(config.openai_base_url) ?? usual;
	const set = { openai_base_url: withVersionOf(upstream, where.origin) };
	return pointed(where, upstream, byChatGpt ? { ...set, ...uncompressed } : set);
}

/** With a ChatGPT sign-in it compresses requests by zstd, which Node.js 20 cannot read. */
const uncompressed = { "features.enable_request_compression": false };

function pointed(
	{ parameters: given }: LaunchSurroundings,
	upstream: string,
	set: Readonly<Record<string, string | boolean>>,
): Pointing {
	const parameters = Object.entries(set).flatMap(([key, value]) => ["-c", `${key}=${JSON.stringify(value)}`]);
	// Of two settings of a key the last one counts, and theirs come behind ours.
	const isOurs = (word: string | undefined) => Object.keys(set).some((key) => word?.startsWith(`${key}=`));
	const kept = given.filter((word, index) => {
		if (configFlags.includes(word)) return !isOurs(given[index + 1]);
		return !(configFlags.includes(given[index - 1] ?? "") && isOurs(word));
	});
	return { ...nothingSet, upstreams: { openai: upstream }, parameters, ownParameters: kept };
}

const configFlags = ["-c", "--config"];

/** Its file, the profile over it, and the settings of the command line over both. */
async function settingsOf(where: LaunchSurroundings): Promise<JsonObject> {
	const folder = ownFolder(where);
	const config = await settingsIn(path.join(folder, "config.toml"));
	const profile = optionIn(where.parameters, "-p", "--profile") ?? textOf(config.profile);
	const inFile = profile === undefined ? {} : await settingsIn(path.join(folder, `${profile}.config.toml`));
	const ofProfile = objectOf(objectOf(config.profiles)[profile ?? ""]);
	const flags = await Promise.all(optionsIn(where.parameters, ...configFlags).map(settingOf));
	return [ofProfile, inFile, ...flags].reduce(laidOver, config);
}

/** `a.b=value`, where the value is TOML, or else a text. */
async function settingOf(flag: string): Promise<JsonObject> {
	const [, key = "", value = ""] = /^([^=]*)=(.*)$/s.exec(flag) ?? [];
	const { parse } = await import("smol-toml");
	for (const written of [value, JSON.stringify(value)]) {
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
