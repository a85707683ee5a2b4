import path from "node:path";
import { nothingSet, refusedLaunch, withVersionOf } from "./base-url.ts";
import { pointClaudeCode } from "./claude-code-address.ts";
import { codexProvider, ownFolder, settingsWith } from "./codex-address.ts";
import type { Host, LaunchSurroundings, Pointing } from "./host.ts";
import { settingsIn } from "./settings-file.ts";

// SDKs that start an agent program. A program of the user's is launched, whose command follows the name.

export const claudeAgentSdk: Host = {
	name: "claude-agent-sdk",
	title: "Claude Agent SDK",
	launch: {
		command: "claude-agent-sdk",
		isLibrary: true,
		point: (where) => pointByVariables("Claude Agent SDK", where),
	},
};

export const claudeAgentAcp: Host = {
	name: "claude-agent-acp",
	title: "Claude Agent for editors",
	launch: { command: "claude-agent-acp", point: (where) => pointByVariables("Claude Agent for editors", where) },
};

/**
 * Claude Code behind the Agent SDK, or behind the Agent Client Protocol, where an editor starts it and talks to it on standard input and
 * output: both take the environment and the settings of Claude Code, and no `--settings`. Source: `resolveProviderConfig` of
 * claude-agent-acp 0.101.0, and the Agent SDK 0.3.332, which hands its own environment to Claude Code.
 */
async function pointByVariables(title: string, where: LaunchSurroundings): Promise<Pointing> {
	const pointing = await pointClaudeCode({ ...where, parameters: [] });
	if (pointing.parameters.length === 0) return pointing;
	const reason =
		"settings of Claude Code set its address, and win over the environment. Set the address in the environment instead";
	throw refusedLaunch(title, reason);
}

export const codexSdk: Host = {
	name: "codex-sdk",
	title: "Codex SDK",
	launch: { command: "codex-sdk", isLibrary: true, hasLoginShell: true, point: pointCodexSdk },
};

/**
 * The SDK gives Codex flags of its own and no others, and the environment, so the address is in a copy of `config.toml`. A `baseUrl` in
 * the program wins over it. Source: `CodexExec` of @openai/codex-sdk 0.163.0.
 */
async function pointCodexSdk(where: LaunchSurroundings): Promise<Pointing> {
	const home = ownFolder(where);
	const file = "config.toml";
	const provider = await codexProvider({ ...where, parameters: [] });
	const { upstream } = provider;
	const { stringify } = await import("smol-toml");
	const settings = await settingsIn(path.join(home, file));
	const copy = settingsWith(settings, provider, withVersionOf(upstream, where.origin));
	return {
		...nothingSet,
		upstreams: { openai: upstream },
		environment: { CODEX_HOME: where.folder },
		files: { [file]: stringify(copy) },
		linkedFolder: home,
	};
}
