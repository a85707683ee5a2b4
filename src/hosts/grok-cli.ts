import path from "node:path";
import { nothingSet, optionIn, optionsGiven, textOf, withoutOptions, withVersionOf } from "./base-url.ts";
import type { Host, LaunchSurroundings, Pointing } from "./host.ts";
import { settingsIn } from "./settings-file.ts";

export const grokCli: Host = {
	name: "grok-cli",
	title: "Grok CLI",
	launch: { command: "grok", point },
};

/**
 * A flag wins over the variable, and the program writes it to its settings, where it would outlast the run. Source: @vibe-kit/grok-cli
 * 0.0.34, `getBaseURL` of its settings.
 */
async function point({ homeFolder, environment, origin, parameters: given }: LaunchSurroundings): Promise<Pointing> {
	const names = ["-u", "--base-url"] as const;
	const settings = await settingsIn(path.join(homeFolder, ".grok", "user-settings.json"));
	const base =
		(optionIn(given, ...names) ?? environment.GROK_BASE_URL) || textOf(settings.baseURL) || "https://api.x.ai/v1";
	return {
		...nothingSet,
		upstreams: { openai: base },
		environment: { GROK_BASE_URL: withVersionOf(base, origin) },
		ownParameters: withoutOptions(given, optionsGiven(given, ...names)),
	};
}
