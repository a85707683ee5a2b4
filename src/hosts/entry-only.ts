import path from "node:path";
import {
	byPlatform,
	codeFolder,
	type Host,
	inBoth,
	ofProject,
	ofUser,
	settingsFolder,
	typedEntry,
	usualServer,
} from "./host.ts";

// The hosts with a known place of the server's entry, and nothing else.

export const claudeDesktop: Host = {
	name: "claude-desktop",
	title: "Claude Desktop",
	server: {
		...usualServer,
		file: ofUser((where) => path.join(settingsFolder(where), "Claude", "claude_desktop_config.json")),
		afterwards: "Quit Claude Desktop and start it again.",
		source: "https://modelcontextprotocol.io/docs/develop/connect-local-servers",
	},
};

export const vscode: Host = {
	name: "vscode",
	title: "VS Code",
	server: {
		...usualServer,
		key: ["servers", "palimpsest"],
		file: ofProject([".vscode", "mcp.json"], (where) => path.join(codeFolder(where), "mcp.json")),
		entry: typedEntry,
		afterwards: "Press Start above the entry, or run MCP: List Servers.",
		source: "https://code.visualstudio.com/docs/copilot/customization/mcp-servers",
	},
};

export const cursor: Host = {
	name: "cursor",
	title: "Cursor",
	server: {
		...usualServer,
		file: inBoth(".cursor", "mcp.json"),
		afterwards: "Switch it on in Settings, Tools & MCP.",
		source: "https://cursor.com/docs/context/mcp",
	},
};

export const zed: Host = {
	name: "zed",
	title: "Zed",
	server: {
		...usualServer,
		key: ["context_servers", "palimpsest"],
		file: ofProject([".zed", "settings.json"], byPlatform(["Zed", "settings.json"], ["zed", "settings.json"])),
		afterwards: "Zed starts it at once; the Agent Panel's settings show a green dot.",
		source: "https://zed.dev/docs/ai/mcp",
	},
};

export const jetbrains: Host = {
	name: "jetbrains",
	title: "JetBrains (Junie)",
	server: {
		...usualServer,
		file: inBoth(".junie", "mcp", "mcp.json"),
		afterwards: "Switch it on in Settings, Tools, Junie, MCP Settings.",
		source: "https://www.jetbrains.com/help/junie/model-context-protocol-mcp.html",
	},
};

export const windsurf: Host = {
	name: "windsurf",
	title: "Windsurf",
	server: {
		...usualServer,
		file: ofUser(({ homeFolder }) => path.join(homeFolder, ".codeium", "windsurf", "mcp_config.json")),
		afterwards: "Press Refresh in the MCP panel of Cascade.",
		source: "https://docs.windsurf.com/windsurf/cascade/mcp",
	},
};
