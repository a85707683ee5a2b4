import path from "node:path";
import { packageFile, version } from "../version.ts";
import type { HostSurroundings } from "./hosts.ts";
import { ownCommand } from "./own-command.ts";

/** The agent programs that load a plugin of ours: a file that imports the program which wrote it. */
const pluginHosts = ["opencode", "pi"] as const;

export type PluginHost = (typeof pluginHosts)[number];

interface PluginChoices {
	readonly mostChars: number;
	readonly locale?: string | undefined;
}

/** Stands in every plugin file. */
export const pluginMark = "Written by palimpsest";

/** Sources: https://opencode.ai/docs/plugins, and docs/extensions.md of `@earendil-works/pi-coding-agent`. */
export function pluginFile(host: PluginHost, where: Omit<HostSurroundings, "platform">): string {
	const { homeFolder, projectFolder, environment } = where;
	if (host === "pi") {
		const ofUser = environment.PI_CODING_AGENT_DIR || path.join(homeFolder, ".pi", "agent");
		return path.join(projectFolder ? path.join(projectFolder, ".pi") : ofUser, "extensions", "palimpsest.js");
	}
	const ofUser = path.join(environment.XDG_CONFIG_HOME || path.join(homeFolder, ".config"), "opencode");
	return path.join(projectFolder ? path.join(projectFolder, ".opencode") : ofUser, "plugins", "palimpsest.js");
}

export function pluginText(host: PluginHost, { mostChars, locale }: PluginChoices): string {
	const options = { command: ownCommand(), mostChars, ...(locale === undefined ? {} : { locale }) };
	const head = (title: string, module: string) =>
		[
			`// Masks old tool results and cuts large ones in ${title}. ${pluginMark} ${version}; delete this file to undo it.`,
			`const plugin = ${JSON.stringify(packageFile(`dist/${module}`).href)};`,
			`const options = ${JSON.stringify(options)};`,
			"",
			"",
		].join("\n");
	return host === "pi" ? head("pi", "pi-extension.js") + piText : head("opencode", "opencode-plugin.js") + opencodeText;
}

/** The file without our plugin: none if it is ours. */
export function withoutPlugin(text: string | undefined): string | undefined {
	return text?.includes(pluginMark) ? undefined : text;
}

export function isPluginHost(name: string): name is PluginHost {
	return pluginHosts.some((host) => host === name);
}

const piText = `export default async (pi) => (await import(plugin)).default(pi, options);
`;

/** Both plugin APIs: 1.x calls `server`, 2.x calls `setup`. */
const opencodeText = `export default {
	id: "palimpsest",
	server: async (input) => {
		try {
			return await (await import(plugin)).default.server(input, options);
		} catch (error) {
			const message = "The plugin was not loaded: " + error;
			await input?.client?.app?.log?.({ body: { service: "palimpsest", level: "error", message } });
			return {};
		}
	},
	setup: async (context) => (await import(plugin)).default.setup(context, options),
};
`;
