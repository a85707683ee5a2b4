import { refusedLaunch } from "./base-url.ts";
import { pointClaudeCode } from "./claude-code-address.ts";
import type { Host, LaunchSurroundings, Pointing } from "./host.ts";

/** Claude Code behind the Agent Client Protocol: an editor starts it, and talks to it on standard input and output. */
export const claudeAgentAcp: Host = {
	name: "claude-agent-acp",
	title: "Claude Agent for editors",
	launch: { command: "claude-agent-acp", point },
};

/** It takes the environment and the settings of Claude Code, and no `--settings`. Source: its version 0.101.0 (`resolveProviderConfig`). */
async function point(where: LaunchSurroundings): Promise<Pointing> {
	const pointing = await pointClaudeCode({ ...where, parameters: [] });
	if (pointing.parameters.length === 0) return pointing;
	const reason =
		"settings of Claude Code set its address, and win over the environment. Set the address in the environment instead";
	throw refusedLaunch(claudeAgentAcp.title, reason);
}
