import path from "node:path";
import { listOf, objectOf } from "../formats/json-text/value.ts";
import {
	type Address,
	nothingSet,
	optionIn,
	optionsGiven,
	refusedLaunch,
	sharedUpstreams,
	textAt,
	versioned,
	withoutOptions,
} from "./base-url.ts";
import type { Host, LaunchSurroundings, Pointing } from "./host.ts";
import { settingsIn } from "./settings-file.ts";

export const continueCli: Host = {
	name: "continue",
	title: "Continue CLI",
	launch: { command: "cn", hasLoginShell: true, point },
};

/** Their requests are not the ones that the proxy reads. */
const otherApis = new Set(["bedrock", "sagemaker", "vertexai", "azure", "ollama", "cohere", "replicate", "watsonx"]);

/**
 * `cn` reads a file that `--config` names. It gets a copy with other addresses; JSON is YAML. Source:
 * https://docs.continue.dev/reference (`apiBase`).
 */
async function point(where: LaunchSurroundings): Promise<Pointing> {
	const { homeFolder, environment, origin, folder, parameters: given } = where;
	const usual = path.join(environment.CONTINUE_GLOBAL_DIR || path.join(homeFolder, ".continue"), "config.yaml");
	const config = optionIn(given, "--config") ?? usual;
	const settings = await settingsIn(config);
	const models = listOf(settings.models);
	const addresses = models.flatMap((model) => addressOf(model) ?? []);
	if (addresses.length === 0) {
		const reason = `${config} names no model with an address that can be set. Enter one with provider anthropic, openai or gemini, or with an apiBase`;
		throw refusedLaunch(continueCli.title, reason);
	}
	const { upstreams, pointed } = sharedUpstreams(addresses, origin);
	const copy = {
		...settings,
		models: models.map((model) => {
			const address = addressOf(model);
			return address === undefined ? model : { ...objectOf(model), apiBase: pointed(address) };
		}),
	};
	const file = "continue-config.yaml";
	return {
		...nothingSet,
		upstreams,
		parameters: ["--config", path.join(folder, file)],
		ownParameters: withoutOptions(given, optionsGiven(given, "--config")),
		files: { [file]: JSON.stringify(copy) },
	};
}

/** The first model for the chat is the one in use. Others take no part in a conversation with tools. */
function addressOf(model: unknown): Address | undefined {
	const { roles } = objectOf(model);
	if (Array.isArray(roles) && !roles.includes("chat")) return undefined;
	const provider = textAt(model, ["provider"]);
	const base = textAt(model, ["apiBase"]);
	if (provider === "anthropic" || provider === "gemini") return { api: provider, base: base ?? versioned[provider] };
	if (provider === "openai") return { api: "openai", base: base ?? versioned.openai };
	if (provider === undefined || base === undefined || otherApis.has(provider)) return undefined;
	return { api: "openai", base };
}
