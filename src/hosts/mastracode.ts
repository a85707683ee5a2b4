import path from "node:path";
import type { JsonObject } from "../engine/conversation/json.ts";
import { listOf, objectOf } from "../formats/json-text/value.ts";
import {
	type Address,
	nothingSet,
	optionIn,
	optionsGiven,
	sharedUpstreams,
	textAt,
	textOf,
	versioned,
	withoutOptions,
} from "./base-url.ts";
import { type Host, type LaunchSurroundings, type Pointing, settingsFolder } from "./host.ts";
import { settingsIn } from "./settings-file.ts";

export const mastracode: Host = {
	name: "mastracode",
	title: "Mastra Code",
	launch: { command: "mastracode", point },
};

/**
 * Its own providers take an address from the environment. Those that a user has added are in `settings.json` of its folder, which
 * then is one of links with a copy of that file. Source: `mastracode-gateway` and `settings` of @mastra/code-sdk in mastracode 0.32.1.
 */
async function point(where: LaunchSurroundings): Promise<Pointing> {
	const { environment, origin, folder, parameters: given } = where;
	const { ANTHROPIC_BASE_URL: anthropic, OPENAI_BASE_URL: openai } = environment;
	const flag = optionIn(given, "--settings");
	const file = flag ?? path.join(ownFolder(where), copy);
	const settings = await settingsIn(file);
	const added = listOf(settings.customProviders).map(objectOf);
	const model = optionIn(given, "-m", "--model") ?? usualModel(settings);
	// It also names models with that of its gateway before them.
	const chosen = added.find((provider) => model?.replace(/^mastracode\//, "").startsWith(`${idOf(provider)}/`));
	const own: readonly Address[] = [
		{ api: "anthropic", base: anthropic || versioned.anthropic },
		{ api: "openai", base: openai || versioned.openai },
	];
	const ofAdded = added.flatMap(addressOf);
	const { upstreams, pointed } = sharedUpstreams([...(chosen ? addressOf(chosen) : []), ...own, ...ofAdded], origin);
	const [forAnthropic = "", forOpenai = ""] = own.map(pointed);
	const environmentSet = { ANTHROPIC_BASE_URL: forAnthropic, OPENAI_BASE_URL: forOpenai };
	const pointing = { ...nothingSet, upstreams, environment: environmentSet };
	if (ofAdded.length === 0) return pointing;
	const customProviders = added.map((provider) => {
		const [address] = addressOf(provider);
		return address === undefined ? provider : { ...provider, url: pointed(address) };
	});
	const files = { [copy]: JSON.stringify({ ...settings, customProviders }) };
	if (flag !== undefined) {
		const others = withoutOptions(given, optionsGiven(given, "--settings"));
		return { ...pointing, files, parameters: ["--settings", path.join(folder, copy)], ownParameters: others };
	}
	return {
		...pointing,
		environment: { ...environmentSet, MASTRA_APP_DATA_DIR: folder },
		files,
		linkedFolder: ownFolder(where),
	};
}

const copy = "settings.json";

function ownFolder(where: LaunchSurroundings): string {
	const { platform, homeFolder, environment } = where;
	if (environment.MASTRA_APP_DATA_DIR) return environment.MASTRA_APP_DATA_DIR;
	if (platform !== "linux") return path.join(settingsFolder(where), "mastracode");
	return path.join(environment.XDG_DATA_HOME || path.join(homeFolder, ".local", "share"), "mastracode");
}

/** They speak OpenAI's Chat Completions. */
function addressOf(provider: JsonObject): readonly Address[] {
	const base = textAt(provider, ["url"]);
	return base === undefined ? [] : [{ api: "openai", base }];
}

/** Source: `getCustomProviderId`. */
function idOf({ name }: JsonObject): string {
	return String(name)
		.trim()
		.toLowerCase()
		.replaceAll(/[^a-z0-9]+/g, "-")
		.replaceAll(/^-+|-+$/g, "");
}

/** The model that a mode begins with. */
function usualModel(settings: JsonObject): string | undefined {
	const defaults = objectOf(objectOf(settings.models).modeDefaults);
	return textOf(defaults.build) ?? Object.values(defaults).find((one) => typeof one === "string");
}
