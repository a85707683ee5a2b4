import path from "node:path";

type Where = HostSurroundings;

const servers = ["mcpServers", "palimpsest"];

const plain = ({ command, args, env }: ServerStart) => ({ command, args, env });

const typed = (start: ServerStart) => ({ type: "stdio", ...plain(start) });

/** A file in the project where there is one, else in the home folder. */
const inBase =
	(...segments: string[]) =>
	({ projectFolder, homeFolder }: Where) =>
		path.join(projectFolder ?? homeFolder, ...segments);

/** A file of the user; there is none for a project. */
const ofUser = (file: (where: Where) => string) => (where: Where) =>
	where.projectFolder === undefined ? file(where) : undefined;

/** The folder of a user's configuration files on Linux, which some programs use on macOS too. */
function configFolder({ homeFolder, environment }: Where): string {
	return environment.XDG_CONFIG_HOME || path.join(homeFolder, ".config");
}

/** The folder in which programs keep a user's settings: `Application Support`, `%APPDATA%` or `~/.config`. */
function settingsFolder(where: Where): string {
	const { platform, homeFolder, environment } = where;
	if (platform === "darwin") return path.join(homeFolder, "Library", "Application Support");
	if (platform === "win32") return environment.APPDATA || path.join(homeFolder, "AppData", "Roaming");
	return configFolder(where);
}

/** The folder of VS Code's user settings. */
const codeFolder = (where: Where) => path.join(settingsFolder(where), "Code", "User");

/** The hosts that can be told of the server, in the order of the documentation. */
export const hosts: readonly Host[] = [
	{
		name: "claude-desktop",
		title: "Claude Desktop",
		format: "json",
		key: servers,
		file: ofUser((where) => path.join(settingsFolder(where), "Claude", "claude_desktop_config.json")),
		entry: plain,
		afterwards: "Quit Claude Desktop and start it again.",
		source: "https://modelcontextprotocol.io/docs/develop/connect-local-servers",
	},
	{
		name: "claude-code",
		title: "Claude Code",
		format: "json",
		key: servers,
		file: ({ projectFolder, homeFolder }) =>
			projectFolder ? path.join(projectFolder, ".mcp.json") : path.join(homeFolder, ".claude.json"),
		entry: typed,
		afterwards: "Start a new session; /mcp shows it.",
		source: "https://code.claude.com/docs/en/mcp",
	},
	{
		name: "vscode",
		title: "VS Code",
		format: "json",
		key: ["servers", "palimpsest"],
		file: (where) =>
			where.projectFolder
				? path.join(where.projectFolder, ".vscode", "mcp.json")
				: path.join(codeFolder(where), "mcp.json"),
		entry: typed,
		afterwards: "Press Start above the entry, or run MCP: List Servers.",
		source: "https://code.visualstudio.com/docs/copilot/customization/mcp-servers",
	},
	{
		name: "cursor",
		title: "Cursor",
		format: "json",
		key: servers,
		file: inBase(".cursor", "mcp.json"),
		entry: plain,
		afterwards: "Switch it on in Settings, Tools & MCP.",
		source: "https://cursor.com/docs/context/mcp",
	},
	{
		name: "zed",
		title: "Zed",
		format: "json",
		key: ["context_servers", "palimpsest"],
		file: (where) =>
			where.projectFolder
				? path.join(where.projectFolder, ".zed", "settings.json")
				: path.join(zedFolder(where), "settings.json"),
		entry: plain,
		afterwards: "Zed starts it at once; the Agent Panel's settings show a green dot.",
		source: "https://zed.dev/docs/ai/mcp",
	},
	{
		name: "jetbrains",
		title: "JetBrains (Junie)",
		format: "json",
		key: servers,
		file: ({ projectFolder, homeFolder }) => path.join(projectFolder ?? homeFolder, ".junie", "mcp", "mcp.json"),
		entry: plain,
		afterwards: "Switch it on in Settings, Tools, Junie, MCP Settings.",
		source: "https://www.jetbrains.com/help/junie/model-context-protocol-mcp.html",
	},
	{
		name: "windsurf",
		title: "Windsurf",
		format: "json",
		key: servers,
		file: ofUser(({ homeFolder }) => path.join(homeFolder, ".codeium", "windsurf", "mcp_config.json")),
		entry: plain,
		afterwards: "Press Refresh in the MCP panel of Cascade.",
		source: "https://docs.windsurf.com/windsurf/cascade/mcp",
	},
	{
		name: "cline",
		title: "Cline",
		format: "json",
		key: servers,
		file: ofUser((where) => clineExtension(where).file),
		programs: (where) => (where.projectFolder === undefined ? [clineExtension(where), clineCommand(where)] : []),
		entry: (start) => ({ ...plain(start), disabled: false }),
		afterwards: "The extension starts it at once, and its MCP Servers panel shows it; start the Cline CLI again.",
		source: "https://docs.cline.bot/mcp/adding-and-configuring-servers",
	},
	{
		name: "gemini-cli",
		title: "Gemini CLI",
		format: "json",
		key: servers,
		file: inBase(".gemini", "settings.json"),
		entry: plain,
		afterwards: "Start Gemini CLI again; /mcp shows it.",
		source: "https://geminicli.com/docs/tools/mcp-server",
	},
	{
		name: "codex",
		title: "Codex",
		format: "toml",
		key: ["mcp_servers", "palimpsest"],
		file: ({ projectFolder, homeFolder, environment }) =>
			path.join(
				projectFolder ? path.join(projectFolder, ".codex") : environment.CODEX_HOME || path.join(homeFolder, ".codex"),
				"config.toml",
			),
		entry: plain,
		afterwards: "Start Codex again; /mcp shows it.",
		source: "https://developers.openai.com/codex/mcp",
	},
	{
		name: "opencode",
		title: "opencode",
		format: "json",
		key: ["mcp", "palimpsest"],
		file: (where) =>
			where.projectFolder
				? path.join(where.projectFolder, "opencode.json")
				: path.join(configFolder(where), "opencode", "opencode.json"),
		entry: ({ command, args, env }) => ({
			type: "local",
			command: [command, ...args],
			environment: env,
			enabled: true,
		}),
		afterwards: "Start opencode again.",
		source: "https://opencode.ai/docs/mcp-servers",
	},
	{
		name: "copilot-cli",
		title: "Copilot CLI",
		format: "json",
		key: servers,
		file: ofUser(({ homeFolder, environment }) =>
			path.join(environment.COPILOT_HOME || path.join(homeFolder, ".copilot"), "mcp-config.json"),
		),
		entry: (start) => ({ type: "local", ...plain(start), tools: ["*"] }),
		afterwards: "Start Copilot CLI again; /mcp show lists it.",
		source: "https://docs.github.com/en/copilot/how-tos/copilot-cli/customize-copilot/add-mcp-servers",
	},
	{
		name: "goose",
		title: "Goose",
		format: "yaml",
		key: ["extensions", "palimpsest"],
		file: ofUser((where) =>
			where.platform === "win32"
				? path.join(settingsFolder(where), "Block", "goose", "config", "config.yaml")
				: path.join(configFolder(where), "goose", "config.yaml"),
		),
		entry: ({ command, args, env }) => ({
			name: "palimpsest",
			type: "stdio",
			cmd: command,
			args,
			envs: env,
			enabled: true,
			timeout: 300,
		}),
		afterwards: "Start a new Goose session.",
		source: "https://block.github.io/goose/docs/getting-started/using-extensions",
	},
];

function clineExtension(where: Where): HostProgram {
	const folder = path.join(codeFolder(where), "globalStorage", "saoudrizwan.claude-dev");
	return { folder, file: path.join(folder, "settings", "cline_mcp_settings.json") };
}

/** Source: https://github.com/cline/cline/blob/main/sdk/packages/shared/src/storage/paths.ts (`resolveMcpSettingsPath`). */
function clineCommand({ homeFolder, environment }: Where): HostProgram {
	const folder = environment.CLINE_DIR || path.join(homeFolder, ".cline");
	const data = environment.CLINE_DATA_DIR || path.join(folder, "data");
	const file = environment.CLINE_MCP_SETTINGS_PATH || path.join(data, "settings", "cline_mcp_settings.json");
	return { folder: environment.CLINE_DATA_DIR || folder, file };
}

function zedFolder(where: Where): string {
	return where.platform === "win32" ? path.join(settingsFolder(where), "Zed") : path.join(configFolder(where), "zed");
}

/** What the user may choose when the server is entered in a host. */
export interface StartChoices {
	readonly preset?: string | undefined;
	readonly locale?: string | undefined;
	/** Where originals are kept, as `--archive`. */
	readonly archive?: string | undefined;
	/** Program and first arguments in place of npm's: a checkout, or an installation of one's own. */
	readonly command?: readonly string[] | undefined;
	readonly platform: NodeJS.Platform;
}

/** How a host is told to start the server: by npx, which on Windows is a script that only a shell can run. */
export function serverStart({ preset, locale, archive, command, platform }: StartChoices): ServerStart {
	const fromNpm = ["npx", "-y", "palimpsest-mcp"];
	const [program = "npx", ...args] = command ?? (platform === "win32" ? ["cmd", "/c", ...fromNpm] : fromNpm);
	const named = { PALIMPSEST_PRESET: preset, PALIMPSEST_LOCALE: locale, PALIMPSEST_ARCHIVE: archive };
	const env = Object.fromEntries(Object.entries(named).flatMap(([name, value]) => (value ? [[name, value]] : [])));
	return { command: program, args, env };
}

/** Where hosts keep what they are told, on this machine. */
export interface HostSurroundings {
	readonly platform: NodeJS.Platform;
	readonly homeFolder: string;
	/** The project, where the entry is for that alone. */
	readonly projectFolder?: string | undefined;
	readonly environment: Readonly<Record<string, string | undefined>>;
}

/** A program of a host that has several, such as an editor's extension and a command. */
export interface HostProgram {
	/** Its configuration file. */
	readonly file: string;
	/** The folder that is there where the program is. */
	readonly folder: string;
}

/** How a host starts the server. */
export interface ServerStart {
	readonly command: string;
	readonly args: readonly string[];
	/** Environment variables, beside those that the host passes on. */
	readonly env: Readonly<Record<string, string>>;
}

/** A program that can use an MCP server, and how it is told of one. */
export interface Host {
	/** As `palimpsest install` takes it, such as `claude-code`. */
	readonly name: string;
	readonly title: string;
	/** How its configuration is written; `yaml` is entered by hand. */
	readonly format: "json" | "toml" | "yaml";
	/** Where in it the entry stands. */
	readonly key: readonly string[];
	/** Its configuration file; `undefined` where it has none for a project, or none on this platform. */
	readonly file: (where: HostSurroundings) => string | undefined;
	/** Its programs, where it has several with a file each; `file` is that of the first. */
	readonly programs?: (where: HostSurroundings) => readonly HostProgram[];
	readonly entry: (start: ServerStart) => unknown;
	/** What has to be done so that it takes notice. */
	readonly afterwards: string;
	/** Where its documentation says so. */
	readonly source: string;
}
