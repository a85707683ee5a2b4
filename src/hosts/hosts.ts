import path from "node:path";

export interface Host {
	readonly name: string;
	readonly title: string;
	/** `yaml` is entered by hand. */
	readonly format: "json" | "toml" | "yaml";
	readonly key: readonly string[];
	/** The configuration file; `undefined` if the host has none for a project. */
	readonly file: (where: HostSurroundings) => string | undefined;
	/** The host's programs, if it has several with a file each; `file` is that of the first. */
	readonly programs?: (where: HostSurroundings) => readonly HostProgram[];
	readonly entry: (start: ServerStart) => unknown;
	readonly afterwards: string;
	readonly source: string;
}

export interface HostSurroundings {
	readonly platform: NodeJS.Platform;
	readonly homeFolder: string;
	readonly projectFolder?: string | undefined;
	readonly environment: Readonly<Record<string, string | undefined>>;
}

interface HostProgram {
	readonly file: string;
	/** It exists if the program is installed. */
	readonly folder: string;
}

export interface ServerStart {
	readonly command: string;
	readonly args: readonly string[];
	readonly env: Readonly<Record<string, string>>;
}

/** The command that starts the server: npx, which on Windows is a script that only a shell can run. */
export function serverStart(choices: {
	readonly preset?: string | undefined;
	readonly locale?: string | undefined;
	readonly archive?: string | undefined;
	/** Names with commas between them; absent: all. */
	readonly tools?: string | undefined;
	readonly command?: readonly string[] | undefined;
	readonly platform: NodeJS.Platform;
}): ServerStart {
	const { preset, locale, archive, tools, command, platform } = choices;
	const fromNpm = ["npx", "-y", "palimpsest-mcp"];
	const [program = "npx", ...args] = command ?? (platform === "win32" ? ["cmd", "/c", ...fromNpm] : fromNpm);
	const named = {
		PALIMPSEST_PRESET: preset,
		PALIMPSEST_LOCALE: locale,
		PALIMPSEST_ARCHIVE: archive,
		PALIMPSEST_TOOLS: tools,
	};
	const env = Object.fromEntries(Object.entries(named).flatMap(([name, value]) => (value ? [[name, value]] : [])));
	return { command: program, args, env };
}

const plain = ({ command, args, env }: ServerStart) => ({ command, args, env });
const typed = (start: ServerStart) => ({ type: "stdio", ...plain(start) });

/** A file in the project if there is one, else a file of the user. */
const ofProject =
	(segments: readonly string[], file: (where: HostSurroundings) => string) => (where: HostSurroundings) =>
		where.projectFolder ? path.join(where.projectFolder, ...segments) : file(where);

const inBoth = (...segments: string[]) => ofProject(segments, ({ homeFolder }) => path.join(homeFolder, ...segments));

const ofUser = (file: (where: HostSurroundings) => string) => (where: HostSurroundings) =>
	where.projectFolder === undefined ? file(where) : undefined;

const byPlatform = (onWindows: readonly string[], elsewhere: readonly string[]) => (where: HostSurroundings) =>
	where.platform === "win32"
		? path.join(settingsFolder(where), ...onWindows)
		: path.join(configFolder(where), ...elsewhere);

type HostRow = Omit<Host, "name" | "format" | "key" | "entry"> & Partial<Pick<Host, "format" | "key" | "entry">>;

const rows: Readonly<Record<string, HostRow>> = {
	"claude-desktop": {
		title: "Claude Desktop",
		file: ofUser((where) => path.join(settingsFolder(where), "Claude", "claude_desktop_config.json")),
		afterwards: "Quit Claude Desktop and start it again.",
		source: "https://modelcontextprotocol.io/docs/develop/connect-local-servers",
	},
	"claude-code": {
		title: "Claude Code",
		file: ofProject([".mcp.json"], ({ homeFolder }) => path.join(homeFolder, ".claude.json")),
		entry: typed,
		afterwards: "Start a new session; /mcp shows it.",
		source: "https://code.claude.com/docs/en/mcp",
	},
	vscode: {
		title: "VS Code",
		key: ["servers", "palimpsest"],
		file: ofProject([".vscode", "mcp.json"], (where) => path.join(codeFolder(where), "mcp.json")),
		entry: typed,
		afterwards: "Press Start above the entry, or run MCP: List Servers.",
		source: "https://code.visualstudio.com/docs/copilot/customization/mcp-servers",
	},
	cursor: {
		title: "Cursor",
		file: inBoth(".cursor", "mcp.json"),
		afterwards: "Switch it on in Settings, Tools & MCP.",
		source: "https://cursor.com/docs/context/mcp",
	},
	zed: {
		title: "Zed",
		key: ["context_servers", "palimpsest"],
		file: ofProject([".zed", "settings.json"], byPlatform(["Zed", "settings.json"], ["zed", "settings.json"])),
		afterwards: "Zed starts it at once; the Agent Panel's settings show a green dot.",
		source: "https://zed.dev/docs/ai/mcp",
	},
	jetbrains: {
		title: "JetBrains (Junie)",
		file: inBoth(".junie", "mcp", "mcp.json"),
		afterwards: "Switch it on in Settings, Tools, Junie, MCP Settings.",
		source: "https://www.jetbrains.com/help/junie/model-context-protocol-mcp.html",
	},
	windsurf: {
		title: "Windsurf",
		file: ofUser(({ homeFolder }) => path.join(homeFolder, ".codeium", "windsurf", "mcp_config.json")),
		afterwards: "Press Refresh in the MCP panel of Cascade.",
		source: "https://docs.windsurf.com/windsurf/cascade/mcp",
	},
	cline: {
		title: "Cline",
		file: ofUser((where) => clineExtension(where).file),
		programs: (where) => (where.projectFolder === undefined ? [clineExtension(where), clineCommand(where)] : []),
		entry: (start) => ({ ...plain(start), disabled: false }),
		afterwards: "The extension starts it at once, and its MCP Servers panel shows it; start the Cline CLI again.",
		source: "https://docs.cline.bot/mcp/adding-and-configuring-servers",
	},
	"gemini-cli": {
		title: "Gemini CLI",
		file: inBoth(".gemini", "settings.json"),
		afterwards: "Start Gemini CLI again; /mcp shows it.",
		source: "https://geminicli.com/docs/tools/mcp-server",
	},
	codex: {
		title: "Codex",
		format: "toml",
		key: ["mcp_servers", "palimpsest"],
		file: ofProject([".codex", "config.toml"], (where) => path.join(programFolder("codex", where), "config.toml")),
		afterwards: "Start Codex again; /mcp shows it.",
		source: "https://developers.openai.com/codex/mcp",
	},
	opencode: {
		title: "opencode",
		key: ["mcp", "palimpsest"],
		file: ofProject(["opencode.json"], (where) => path.join(programFolder("opencode", where), "opencode.json")),
		entry: ({ command, args, env: environment }) => {
			return { type: "local", command: [command, ...args], environment, enabled: true };
		},
		afterwards: "Start opencode again.",
		source: "https://opencode.ai/docs/mcp-servers",
	},
	"copilot-cli": {
		title: "Copilot CLI",
		file: ofUser((where) => path.join(programFolder("copilot-cli", where), "mcp-config.json")),
		entry: (start) => ({ type: "local", ...plain(start), tools: ["*"] }),
		afterwards: "Start Copilot CLI again; /mcp show lists it.",
		source: "https://docs.github.com/en/copilot/how-tos/copilot-cli/customize-copilot/add-mcp-servers",
	},
	goose: {
		title: "Goose",
		format: "yaml",
		key: ["extensions", "palimpsest"],
		file: ofUser(byPlatform(["Block", "goose", "config", "config.yaml"], ["goose", "config.yaml"])),
		entry: ({ command: cmd, args, env: envs }) => {
			return { name: "palimpsest", type: "stdio", cmd, args, envs, enabled: true, timeout: 300 };
		},
		afterwards: "Start a new Goose session.",
		source: "https://block.github.io/goose/docs/getting-started/using-extensions",
	},
};

export const hosts: readonly Host[] = Object.entries(rows).map(([name, row]) => {
	return { name, format: "json", key: ["mcpServers", "palimpsest"], entry: plain, ...row };
});

/** The folder of a program's own settings, which a variable may move. */
export function programFolder(
	program: "claude-code" | "codex" | "copilot-cli" | "opencode" | "pi",
	where: Pick<HostSurroundings, "homeFolder" | "environment">,
): string {
	const { homeFolder, environment } = where;
	switch (program) {
		case "claude-code":
			return environment.CLAUDE_CONFIG_DIR || path.join(homeFolder, ".claude");
		case "codex":
			return environment.CODEX_HOME || path.join(homeFolder, ".codex");
		case "copilot-cli":
			return environment.COPILOT_HOME || path.join(homeFolder, ".copilot");
		case "opencode":
			return path.join(configFolder(where), "opencode");
		case "pi":
			return environment.PI_CODING_AGENT_DIR || path.join(homeFolder, ".pi", "agent");
	}
}

/** The folder of configuration files on Linux; some programs use it on macOS too. */
function configFolder({ homeFolder, environment }: Pick<HostSurroundings, "homeFolder" | "environment">): string {
	return environment.XDG_CONFIG_HOME || path.join(homeFolder, ".config");
}

function settingsFolder(where: HostSurroundings): string {
	const { platform, homeFolder, environment } = where;
	if (platform === "darwin") return path.join(homeFolder, "Library", "Application Support");
	if (platform === "win32") return environment.APPDATA || path.join(homeFolder, "AppData", "Roaming");
	return configFolder(where);
}

const codeFolder = (where: HostSurroundings) => path.join(settingsFolder(where), "Code", "User");

function clineExtension(where: HostSurroundings): HostProgram {
	const folder = path.join(codeFolder(where), "globalStorage", "saoudrizwan.claude-dev");
	return { folder, file: path.join(folder, "settings", "cline_mcp_settings.json") };
}

/** Source: https://github.com/cline/cline/blob/main/sdk/packages/shared/src/storage/paths.ts (`resolveMcpSettingsPath`). */
function clineCommand({ homeFolder, environment }: HostSurroundings): HostProgram {
	const folder = environment.CLINE_DIR || path.join(homeFolder, ".cline");
	const data = environment.CLINE_DATA_DIR || path.join(folder, "data");
	const file = environment.CLINE_MCP_SETTINGS_PATH || path.join(data, "settings", "cline_mcp_settings.json");
	return { folder: environment.CLINE_DATA_DIR || folder, file };
}
