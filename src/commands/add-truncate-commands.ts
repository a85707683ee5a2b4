import { Argument, type Command, Option } from "commander";
import { truncationStrategies } from "../policy/names.ts";

/** How `create-program.ts` makes commands. */
export interface CommandMakers {
	/** A command that takes a policy and an archive. */
	readonly keeping: (signature: string, description: string) => Command;
	readonly wholeNumber: (text: string) => number;
	/** A limit of 0 would leave nothing of any output. */
	readonly aboveZero: (text: string) => number;
}

/** The hosts of `hook-targets.ts`, which is loaded on demand. */
const hosts = ["claude-code", "gemini-cli", "opencode"] as const;

function strategyOption(): Option {
	return new Option("--strategy <name>", "how it is cut, if not as the policy says").choices(truncationStrategies);
}

/** The commands that shorten outputs: in a pipe, around a command, in the hooks of agent programs. */
export function addTruncateCommands(program: Command, { keeping, wholeNumber, aboveZero }: CommandMakers): void {
	keeping("truncate [file]", "Print the text in FILE, or of standard input, shortened.")
		.addOption(
			new Option("--max-chars <count>", "characters up to which it is left whole; cut as the policy says past them")
				.argParser(wholeNumber)
				.conflicts("maxTokens"),
		)
		.option("--max-tokens <count>", "tokens up to which it is left whole; what matters of it past them", aboveZero)
		.addOption(strategyOption())
		.option("--focus <words>", "what you are after in it")
		.action(async (file: string | undefined, options, command: Command) => {
			// Nobody types a log.
			if (file === undefined && process.stdin.isTTY) command.error("error: missing required argument 'file'");
			return (await import("./truncate.ts")).truncate(file ?? "-", options);
		});

	keeping("run <command> [parameters...]", "Run a command and print its output shortened; its exit code stays.")
		.usage("[options] -- <command> [parameters...]")
		.option("--max-tokens <count>", "tokens up to which the output is left whole, if not 4000", aboveZero)
		.addOption(
			new Option("--max-chars <count>", "the same in characters").argParser(wholeNumber).conflicts("maxTokens"),
		)
		.action(async (name: string, parameters: string[], options) =>
			(await import("./run.ts")).run(name, parameters, options),
		);
	addHookCommands(program, aboveZero);
}

function addHookCommands(program: Command, aboveZero: CommandMakers["aboveZero"]): void {
	const hook = program
		.command("hook")
		.description("Shorten tool results in the hooks of agent programs.")
		.exitOverride();
	const installs = () => import("./hook-install.ts");
	const maxChars = "characters up to which a result is left whole, if not 16000";
	const locale = "language of the notices, if not that of the host's server entry";
	// Here for their help: a call is answered before commands are made, in `hook-call.ts`.
	const answering = (name: string, description: string) =>
		hook
			.command(name)
			.description(description)
			.option("--max-chars <count>", maxChars)
			.option("--policy <file>", "policy file; by default palimpsest.toml here, else in the configuration folder")
			.option("--archive <where>", "where originals are kept: files (the default), none, redis://…, or a folder")
			.option("--namespace <name>", "under which name, if not default")
			.option("--locale <locale>", locale)
			.exitOverride();
	answering("claude-code", "Answer a PostToolUse event of Claude Code on standard input.");
	answering("gemini-cli", "Answer an AfterTool event of Gemini CLI on standard input.");
	answering("shorten", "Print the text on standard input shortened, or nothing where it fits.")
		.option("--host <host>", "the agent program whose server entry sets the language")
		.option("--saved-in <file>", "the host has cut the text and saved the whole in this file");
	hook
		.command("opencode")
		.description("Print the plugin file for opencode.")
		.option("--max-chars <count>", maxChars, aboveZero)
		.option("--locale <locale>", locale)
		.exitOverride()
		.action(async (options) => (await installs()).printOpencodePlugin(options));
	const changing = (name: string, description: string) =>
		hook
			.command(name)
			.description(description)
			.addArgument(new Argument("<host>", "the agent program").choices(hosts))
			.option("--project", "in the settings of the project here, not in those of the user")
			.option("--dry-run", "print what would change, and write nothing")
			.exitOverride();
	changing("install", "Enter the hook in a program's settings.")
		.option("--max-chars <count>", maxChars, aboveZero)
		.option("--locale <locale>", locale)
		.action(async (host, options) => (await installs()).installHook(host, options));
	changing("uninstall", "Take the hook out of a program's settings.").action(async (host, options) =>
		(await installs()).uninstallHook(host, options),
	);
}
