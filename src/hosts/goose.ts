import { nothingSet, providers, refusedLaunch, textAt, withVersionOf } from "./base-url.ts";
import { byPlatform, type Host, type LaunchSurroundings, ofUser, type Pointing } from "./host.ts";
import { settingsIn } from "./settings-file.ts";

const ownFile = byPlatform(["Block", "goose", "config", "config.yaml"], ["goose", "config.yaml"]);

export const goose: Host = {
	name: "goose",
	title: "Goose",
	server: {
		format: "yaml",
		key: ["extensions", "palimpsest"],
		file: ofUser(ownFile),
		entry: ({ command: cmd, args, env: envs }) => {
			return { name: "palimpsest", type: "stdio", cmd, args, envs, enabled: true, timeout: 300 };
		},
		afterwards: "Start a new Goose session.",
		source: "https://block.github.io/goose/docs/getting-started/using-extensions",
	},
	launch: { command: "goose", point },
};

/** The API of a provider, and the setting with its address; the path of a request is added to it. */
const hosts = {
	anthropic: { api: "anthropic", setting: "ANTHROPIC_HOST" },
	openai: { api: "openai", setting: "OPENAI_HOST" },
	google: { api: "gemini", setting: "GOOGLE_HOST" },
} as const;

/**
 * A variable wins over the setting of the same name. Source:
 * https://github.com/block/goose, `documentation/docs/getting-started/providers.md`.
 */
async function point(where: LaunchSurroundings): Promise<Pointing> {
	const { environment, origin } = where;
	const settings = await settingsIn(ownFile(where));
	const settingOf = (name: string) => environment[name] || textAt(settings, [name]);
	const chosen = settingOf("GOOSE_PROVIDER");
	const host = Object.entries(hosts).find(([name]) => name === chosen)?.[1];
	if (host === undefined) {
		const reason = `its provider is ${chosen ?? "not chosen"}; only the address of anthropic, openai or google can be set. Choose one of these (goose configure)`;
		throw refusedLaunch(goose.title, reason);
	}
	const { api, setting } = host;
	// Without the version of OpenAI, which is in its base path (`OPENAI_BASE_PATH`).
	const usual = providers[api].replace(/\/v1$/, "");
	const base = settingOf(setting) ?? usual;
	const upstream = URL.canParse(base) ? base : `https://${base}`;
	return { ...nothingSet, upstreams: { [api]: upstream }, environment: { [setting]: withVersionOf(upstream, origin) } };
}
