import path from "node:path";
import { nothingSet, providers, refusedLaunch, textAt, versioned, withVersionOf } from "./base-url.ts";
import { configFolder, type Host, type LaunchSurroundings, type Pointing } from "./host.ts";
import { settingsIn } from "./settings-file.ts";

export const crush: Host = {
	name: "crush",
	title: "Crush",
	launch: { command: "crush", point },
};

/** The variables that its catalogue of providers names. Source: https://github.com/charmbracelet/catwalk (`api_endpoint`). */
const endpoints = [
	{ provider: "anthropic", api: "anthropic", variable: "ANTHROPIC_API_ENDPOINT", usual: providers.anthropic },
	{ provider: "openai", api: "openai", variable: "OPENAI_API_ENDPOINT", usual: versioned.openai },
	{ provider: "gemini", api: "gemini", variable: "GEMINI_API_ENDPOINT", usual: providers.gemini },
] as const;

/** A `base_url` of a settings file wins over these variables, and a `crushrc` is a script that only Crush can run. */
async function point(where: LaunchSurroundings): Promise<Pointing> {
	const { environment, origin, projectFolder = ".", homeFolder } = where;
	const files = [
		path.join(configFolder(where), "crush", "crush.json"),
		path.join(homeFolder, ".local", "share", "crush", "crush.json"),
		path.join(projectFolder, "crush.json"),
		path.join(projectFolder, ".crush.json"),
	];
	const settings = await Promise.all(files.map(settingsIn));
	const set = endpoints.filter(({ provider }) =>
		settings.some((one) => textAt(one, ["providers", provider, "base_url"]) !== undefined),
	);
	if (set.length > 0) {
		const names = set.map(({ provider, variable }) => `${provider} (as ${variable})`).join(", ");
		const reason = `its settings have a base_url, which wins over the environment. Set it in the environment: ${names}`;
		throw refusedLaunch(crush.title, reason);
	}
	const bases = endpoints.map((one) => ({ ...one, base: environment[one.variable] || one.usual }));
	return {
		...nothingSet,
		upstreams: Object.fromEntries(bases.map(({ api, base }) => [api, base])),
		environment: Object.fromEntries(bases.map(({ variable, base }) => [variable, withVersionOf(base, origin)])),
	};
}
