import path from "node:path";
import type { JsonObject } from "../engine/conversation/json.ts";
import { objectOf } from "../formats/json-text/value.ts";
import {
	type Address,
	nothingSet,
	optionIn,
	providers,
	refusedLaunch,
	sharedUpstreams,
	textAt,
	textOf,
	versioned,
} from "./base-url.ts";
import type { Host, LaunchSurroundings, Pointing, UpstreamApi } from "./host.ts";
import { settingsIn } from "./settings-file.ts";

export const kimiCode: Host = {
	name: "kimi-code",
	title: "Kimi Code",
	launch: { command: "kimi", point },
};

/** The API of a provider or model of this type, the variable of its `env` with the address, and the usual address. */
const types: Readonly<
	Record<string, { readonly api: UpstreamApi; readonly variable: string; readonly usual: string } | undefined>
> = {
	anthropic: { api: "anthropic", variable: "ANTHROPIC_BASE_URL", usual: providers.anthropic },
	openai: { api: "openai", variable: "OPENAI_BASE_URL", usual: versioned.openai },
	openai_responses: { api: "openai", variable: "OPENAI_BASE_URL", usual: versioned.openai },
	kimi: { api: "openai", variable: "KIMI_BASE_URL", usual: "https://api.moonshot.ai/v1" },
	"google-genai": { api: "gemini", variable: "GOOGLE_GEMINI_BASE_URL", usual: providers.gemini },
};

/**
 * It takes addresses from `config.toml` alone, which lies in the folder of its sessions and sign-in, and no flag names another. So
 * it gets a folder of links to all of these, with a `config.toml` of its own. Source: `resolveEndpointBaseUrl` of Kimi Code 2.1.
 */
async function point(where: LaunchSurroundings): Promise<Pointing> {
	const { homeFolder, environment, origin, folder, parameters } = where;
	if (environment.KIMI_MODEL_NAME) return pointVariables(where);
	const home = environment.KIMI_CODE_HOME || path.join(homeFolder, ".kimi-code");
	const file = "config.toml";
	const settings = await settingsIn(path.join(home, file));
	const named = objectOf(settings.providers);
	const models = objectOf(settings.models);
	const chosen = models[optionIn(parameters, "-m", "--model") ?? textOf(settings.default_model) ?? ""];
	const ofModels = Object.values(models).map((one) => addressOf(one, named));
	const addresses = [addressOf(chosen, named), ...ofModels].filter((one) => one !== undefined);
	if (addresses.length === 0) {
		const reason = `${path.join(home, file)} names no model with an address that can be set. Sign in there first, or enter a provider with a key`;
		throw refusedLaunch(kimiCode.title, reason);
	}
	const { upstreams, pointed } = sharedUpstreams(addresses, origin);
	const pointedAt = (entry: unknown, address: Address | undefined) =>
		address === undefined ? entry : { ...objectOf(entry), base_url: pointed(address) };
	const copy = {
		...settings,
		providers: mapped(named, (one) => pointedAt(one, addressOfProvider(one))),
		models: mapped(models, (one) => (hasOwnAddress(one) ? pointedAt(one, addressOf(one, named)) : one)),
	};
	const { stringify } = await import("smol-toml");
	return {
		...nothingSet,
		upstreams,
		environment: { KIMI_CODE_HOME: folder },
		files: { [file]: stringify(copy) },
		linkedFolder: home,
	};
}

/** `KIMI_MODEL_NAME` makes a provider and a model of the environment. */
async function pointVariables({ environment, origin }: LaunchSurroundings): Promise<Pointing> {
	const type = types[environment.KIMI_MODEL_PROVIDER_TYPE?.toLowerCase() || "kimi"];
	if (type === undefined)
		throw refusedLaunch(kimiCode.title, "KIMI_MODEL_PROVIDER_TYPE names a provider without an address that can be set");
	const base = environment.KIMI_MODEL_BASE_URL || type.usual;
	const { upstreams, pointed } = sharedUpstreams([{ api: type.api, base }], origin);
	return { ...nothingSet, upstreams, environment: { KIMI_MODEL_BASE_URL: pointed({ api: type.api, base }) } };
}

function addressOfProvider(provider: unknown): Address | undefined {
	const type = types[textAt(provider, ["type"]) ?? ""];
	if (type === undefined) return undefined;
	const base = textAt(provider, ["base_url"]) ?? textAt(provider, ["env", type.variable]) ?? type.usual;
	return { api: type.api, base };
}

/** A model may name a protocol and an address of its own. */
function addressOf(model: unknown, named: JsonObject): Address | undefined {
	const provider = named[textAt(model, ["provider"]) ?? ""];
	const ofProvider = addressOfProvider(provider);
	const own = types[textAt(model, ["protocol"]) ?? ""];
	const api = own?.api ?? ofProvider?.api;
	const base = textAt(model, ["base_url"]) ?? ofProvider?.base ?? own?.usual;
	return api === undefined || base === undefined ? undefined : { api, base };
}

function hasOwnAddress(model: unknown): boolean {
	return (textAt(model, ["base_url"]) ?? textAt(model, ["protocol"])) !== undefined;
}

function mapped(entries: JsonObject, change: (entry: unknown) => unknown): JsonObject {
	return Object.fromEntries(Object.entries(entries).map(([name, entry]) => [name, change(entry)]));
}
