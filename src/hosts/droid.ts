import path from "node:path";
import type { JsonObject } from "../engine/conversation/json.ts";
import { listOf, objectOf } from "../formats/json-text/value.ts";
import {
	type Address,
	laidOver,
	nothingSet,
	optionIn,
	optionsGiven,
	refusedLaunch,
	sharedUpstreams,
	textAt,
	withoutOptions,
} from "./base-url.ts";
import type { Host, LaunchSurroundings, Pointing } from "./host.ts";
import { settingsIn } from "./settings-file.ts";

export const droid: Host = {
	name: "droid",
	title: "Factory Droid",
	launch: { command: "droid", point },
};

const apis = { anthropic: "anthropic", openai: "openai", "generic-chat-completion-api": "openai" } as const;

/**
 * Models with a key of the user's, in a copy of their list; Factory's own have no address that can be set. Source:
 * https://docs.factory.ai/model-independence/byok, and `droid --help` (`--settings`).
 */
async function point(where: LaunchSurroundings): Promise<Pointing> {
	const { homeFolder, projectFolder = ".", environment, origin, folder, parameters: given } = where;
	const runtime = optionIn(given, "--settings") ?? environment.FACTORY_RUNTIME_SETTINGS_PATH;
	const folders = [path.join(homeFolder, ".factory"), path.join(projectFolder, ".factory")];
	const files = folders.flatMap((at) => ["settings.json", "settings.local.json"].map((name) => path.join(at, name)));
	const own = runtime ? await settingsIn(runtime) : {};
	const settings = [...(await Promise.all(files.map(settingsIn))), own];
	const models = settings.flatMap(({ customModels }) => listOf(customModels)).map(objectOf);
	const chosen = optionIn(given, "-m", "--model") ?? settings.map((one) => textAt(one, ["model"])).findLast(Boolean);
	const isChosen = (model: JsonObject) => [model.id, model.model, model.displayName].includes(chosen);
	const addresses = [...models.filter(isChosen), ...models].flatMap((model) => addressOf(model) ?? []);
	if (addresses.length === 0) {
		const reason =
			"only models with a key of your own take an address. Enter one in customModels of ~/.factory/settings.json";
		throw refusedLaunch(droid.title, reason);
	}
	const { upstreams, pointed } = sharedUpstreams(addresses, origin);
	const customModels = models.map((model) => {
		const address = addressOf(model);
		return address === undefined ? model : { ...model, baseUrl: pointed(address) };
	});
	const file = "droid-settings.json";
	return {
		...nothingSet,
		upstreams,
		parameters: ["--settings", path.join(folder, file)],
		ownParameters: withoutOptions(given, optionsGiven(given, "--settings")),
		files: { [file]: JSON.stringify(laidOver(own, { customModels })) },
	};
}

function addressOf(model: JsonObject): Address | undefined {
	const api = Object.entries(apis).find(([provider]) => provider === model.provider)?.[1];
	const base = textAt(model, ["baseUrl"]);
	return api === undefined || base === undefined ? undefined : { api, base };
}
