import path from "node:path";
import { objectOf } from "../formats/json-text/value.ts";
import { type Address, nothingSet, optionIn, providers, sharedUpstreams, textAt, versioned } from "./base-url.ts";
import type { Host, LaunchSurroundings, Pointing } from "./host.ts";
import { settingsIn } from "./settings-file.ts";

/** A fork of pi with settings of its own, in YAML. */
export const ohMyPi: Host = {
	name: "oh-my-pi",
	title: "Oh My Pi",
	launch: { command: "omp", point, headless: (prompt) => ["-p", prompt] },
};

const usual: Readonly<Record<string, Address>> = {
	anthropic: { api: "anthropic", base: providers.anthropic },
	openai: { api: "openai", base: providers.openai },
	google: { api: "gemini", base: versioned.gemini },
};

/**
 * The addresses are in `models.yml` of its folder, and no flag names another, so it gets a folder of links with a copy of that file. An
 * extension, as pi takes one, comes too late for the model that a flag names. Source: `getAgentDir` of Oh My Pi 18.2.3.
 */
async function point(where: LaunchSurroundings): Promise<Pointing> {
	const { homeFolder, environment, origin, folder, parameters } = where;
	const profile = optionIn(parameters, "--profile") ?? environment.OMP_PROFILE;
	const root = path.join(homeFolder, environment.PI_CONFIG_DIR || ".omp", ...(profile ? ["profiles", profile] : []));
	const own = environment.PI_CODING_AGENT_DIR || path.join(root, "agent");
	const models = await settingsIn(path.join(own, "models.yml"));
	const named = objectOf(models.providers);
	const all = Object.entries({ ...usual, ...named }).flatMap(([name]): [string, Address][] => {
		const { api, base } = usual[name] ?? { api: apiOf(named[name]), base: undefined };
		const address = textAt(named[name], ["baseUrl"]) ?? base;
		return api === undefined || address === undefined ? [] : [[name, { api, base: address }]];
	});
	// The model's own provider comes first: the proxy has one upstream for each API.
	const model = optionIn(parameters, "--model") ?? "";
	const provider = optionIn(parameters, "--provider") ?? /^([\w.-]+)\//.exec(model)?.[1];
	const sorted = [...all.filter(([name]) => name === provider), ...all];
	const { upstreams, pointed } = sharedUpstreams(
		sorted.map(([, address]) => address),
		origin,
	);
	const changed = all.map(([name, address]) => [name, { ...objectOf(named[name]), baseUrl: pointed(address) }]);
	// JSON is YAML.
	const copy = JSON.stringify({ ...models, providers: { ...named, ...Object.fromEntries(changed) } });
	return {
		...nothingSet,
		upstreams,
		environment: { PI_CODING_AGENT_DIR: folder },
		files: { "models.yml": copy },
		linkedFolder: own,
	};
}

function apiOf(provider: unknown): Address["api"] | undefined {
	const api = textAt(provider, ["api"]) ?? "";
	if (api === "anthropic-messages") return "anthropic";
	if (/^openai-(?:completions|responses)$/.test(api)) return "openai";
	return api === "google-generative-ai" ? "gemini" : undefined;
}
