import path from "node:path";
import { laidOver, nothingSet, refusedLaunch, textAt, textOf, versioned, withVersionOf } from "./base-url.ts";
import {
	codeFolder,
	type Host,
	type HostProgram,
	type HostSurroundings,
	type LaunchSurroundings,
	ofUser,
	type Pointing,
	usualServer,
} from "./host.ts";
import { settingsIn } from "./settings-file.ts";

/** An extension of VS Code and a program of its own. */
export const cline: Host = {
	name: "cline",
	title: "Cline",
	server: {
		...usualServer,
		file: ofUser((where) => ofExtension(where).file),
		programs: (where) => (where.projectFolder === undefined ? [ofExtension(where), ofCommand(where)] : []),
		entry: (start) => ({ ...usualServer.entry(start), disabled: false }),
		afterwards: "The extension starts it at once, and its MCP Servers panel shows it; start the Cline CLI again.",
		source: "https://docs.cline.bot/mcp/adding-and-configuring-servers",
	},
	launch: { command: "cline", title: "Cline CLI", point },
};

function ofExtension(where: HostSurroundings): HostProgram {
	const folder = path.join(codeFolder(where), "globalStorage", "saoudrizwan.claude-dev");
	return { folder, file: path.join(folder, "settings", "cline_mcp_settings.json") };
}

/** Source: https://github.com/cline/cline/blob/main/sdk/packages/shared/src/storage/paths.ts (`resolveMcpSettingsPath`). */
function ofCommand({ homeFolder, environment }: HostSurroundings): HostProgram {
	const folder = environment.CLINE_DIR || path.join(homeFolder, ".cline");
	const data = environment.CLINE_DATA_DIR || path.join(folder, "data");
	const file = environment.CLINE_MCP_SETTINGS_PATH || path.join(data, "settings", "cline_mcp_settings.json");
	return { folder: environment.CLINE_DATA_DIR || folder, file };
}

/** Source: https://github.com/cline/cline/blob/main/sdk/packages/shared/src/storage/paths.ts (`CLINE_PROVIDER_SETTINGS_PATH`). */
async function point({ homeFolder, environment, origin, folder }: LaunchSurroundings): Promise<Pointing> {
	const data =
		environment.CLINE_DATA_DIR || path.join(environment.CLINE_DIR || path.join(homeFolder, ".cline"), "data");
	const settings = await settingsIn(
		environment.CLINE_PROVIDER_SETTINGS_PATH || path.join(data, "settings", "providers.json"),
	);
	const name = textOf(settings.lastUsedProvider) ?? "cline";
	const api = ({ anthropic: "anthropic", gemini: "gemini" } as const)[name] ?? "openai";
	const isOwn = ["anthropic", "gemini", "openai-native", "openai-compatible"].includes(name);
	if (!isOwn) {
		const reason = `the address of its provider (${name}) cannot be set. Choose openai-compatible, anthropic or gemini with a key of your own (cline auth)`;
		throw refusedLaunch("Cline CLI", reason);
	}
	const place = ["providers", name, "settings", "baseUrl"];
	const base = textAt(settings, place) ?? versioned[api];
	const file = "providers.json";
	const pointed = { providers: { [name]: { settings: { baseUrl: withVersionOf(base, origin) } } } };
	return {
		...nothingSet,
		upstreams: { [api]: base },
		environment: {
			CLINE_PROVIDER_SETTINGS_PATH: path.join(folder, file),
			// A server of Cline's that outlasts this run would have another address.
			CLINE_SESSION_BACKEND_MODE: "local",
		},
		files: { [file]: JSON.stringify(laidOver(settings, pointed)) },
	};
}
