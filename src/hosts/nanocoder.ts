import path from "node:path";
import type { JsonObject } from "../engine/conversation/json.ts";
import { listOf, objectOf } from "../formats/json-text/value.ts";
import { type Address, nothingSet, optionIn, refusedLaunch, sharedUpstreams, textAt, textOf } from "./base-url.ts";
import { configFolder, type Host, type LaunchSurroundings, type Pointing } from "./host.ts";
import { settingsIn } from "./settings-file.ts";

export const nanocoder: Host = {
	name: "nanocoder",
	title: "Nanocoder",
	launch: { command: "nanocoder", point },
};

const file = "agents.config.json";

/**
 * Providers in NANOCODER_PROVIDERS or its file win over those of the folder and of the user, by their names. Source:
 * `loadAllProviderConfigs` of @nanocollective/nanocoder 1.30.0.
 */
async function point(where: LaunchSurroundings): Promise<Pointing> {
	const { homeFolder, projectFolder = ".", environment, origin, folder, parameters } = where;
	const ofProject = providersOf(await settingsIn(path.join(projectFolder, file)));
	if (ofProject.length > 0) {
		const reason = `${file} of this folder names providers, and so who gets the keys in it. Enter them in ${path.join(ownFolder(where), file)}`;
		throw refusedLaunch(nanocoder.title, reason);
	}
	const named = textOf(environment.NANOCODER_PROVIDERS_FILE);
	const given = textOf(environment.NANOCODER_PROVIDERS);
	const ofEnvironment = given ? parsed(given) : named ? await settingsIn(path.resolve(homeFolder, named)) : {};
	const ofUser = await settingsIn(path.join(ownFolder(where), file));
	const byName = new Map([...providersOf(ofUser), ...providersOf(ofEnvironment)].map((one) => [one.name, one]));
	const chosen = byName.get(optionIn(parameters, "--provider"));
	const all = [...byName.values()];
	const addresses = [...(chosen ? [chosen] : []), ...all].flatMap((one) => addressOf(one) ?? []);
	if (addresses.length === 0) {
		const reason = `no provider in ${path.join(ownFolder(where), file)} has a baseUrl that can be set`;
		throw refusedLaunch(nanocoder.title, reason);
	}
	const { upstreams, pointed } = sharedUpstreams(addresses, origin);
	const providers = all.map((one) => {
		const address = addressOf(one);
		return address === undefined ? one : { ...one, baseUrl: pointed(address) };
	});
	const own = "nanocoder-providers.json";
	return {
		...nothingSet,
		upstreams,
		// An empty text counts as none.
		environment: { NANOCODER_PROVIDERS: "", NANOCODER_PROVIDERS_FILE: path.join(folder, own) },
		files: { [own]: JSON.stringify({ nanocoder: { providers } }) },
	};
}

function ownFolder(where: LaunchSurroundings): string {
	const { platform, homeFolder, environment } = where;
	if (environment.NANOCODER_CONFIG_DIR) return environment.NANOCODER_CONFIG_DIR;
	if (platform === "darwin") return path.join(homeFolder, "Library", "Preferences", "nanocoder");
	const roaming = environment.APPDATA || path.join(homeFolder, "AppData", "Roaming");
	return path.join(platform === "win32" ? roaming : configFolder(where), "nanocoder");
}

function providersOf(settings: unknown): readonly JsonObject[] {
	const { nanocoder: own, providers } = objectOf(settings);
	const list = Array.isArray(settings) ? settings : (objectOf(own).providers ?? providers);
	return listOf(list).map(objectOf);
}

function parsed(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return {};
	}
}

/** Sign-ins of Copilot and ChatGPT, and Google's SDK, have addresses of their own. */
function addressOf(provider: JsonObject): Address | undefined {
	const base = textAt(provider, ["baseUrl"]);
	const { sdkProvider = "openai-compatible" } = provider;
	const api = sdkProvider === "anthropic" ? "anthropic" : sdkProvider === "openai-compatible" ? "openai" : undefined;
	return api === undefined || base === undefined ? undefined : { api, base };
}
