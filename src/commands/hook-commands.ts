import { Argument, type Command } from "commander";
import { hookHosts } from "../hosts/tool-event.ts";
import { aboveZero, policyFile, withArchive } from "./options.ts";

/** `palimpsest hook`: its answers, and entering it in the settings of agent programs. */
export function addHookCommands(program: Command): void {
	const hook = program
		.command("hook")
		.description("Shorten tool results, and keep what people said, in the hooks of agent programs.");
	const command = (signature: string, description: string) => hook.command(signature).description(description);
	const maxChars = ["--max-chars <count>", "characters up to which a result is left whole, if not 16000"] as const;
	const locale = ["--locale <locale>", "language of the notices, if not that of the host's server entry"] as const;
	// Only their help comes from here: `hook.ts` answers them before the commands are made.
	const answering = (name: string, description: string) => {
		const answer = command(name, description).option(...maxChars);
		return withArchive(answer.option("--policy <file>", policyFile)).option(...locale);
	};
	answering("claude-code", "Answer a PostToolUse or SessionStart event of Claude Code on standard input.");
	answering("gemini-cli", "Answer an AfterTool event of Gemini CLI on standard input.");
	answering("codex", "Answer a PostToolUse event of Codex on standard input.");
	answering("copilot-cli", "Answer a postToolUse event of Copilot CLI on standard input.");
	command("opencode", "Print the plugin file for opencode.")
		.option(...maxChars, aboveZero)
		.option(...locale)
		.action(async (options) => (await import("./hook-install.ts")).printOpencodePlugin(options));
	const changing = (name: string, description: string) =>
		command(name, description)
			.addArgument(new Argument("<host>", "the agent program").choices(hookHosts))
			.option("--project", "in the settings of the project here, not in those of the user")
			.option("--dry-run", "print what would change, and write nothing");
	changing("install", "Enter the hook in a program's settings.")
		.option(...maxChars, aboveZero)
		.option(...locale)
		.action(async (host, options) => (await import("./hook-install.ts")).installHook(host, options));
	changing("uninstall", "Take the hook out of a program's settings.").action(async (host, options) =>
		(await import("./hook-install.ts")).uninstallHook(host, options),
	);
}
