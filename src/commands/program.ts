import { Argument, Command, Option } from "commander";
import { builtInStrategies, truncationStrategies } from "../engine/policy/names.ts";
import { encodingNames } from "../formats/tokens/encodings.ts";
import { commandHookHosts, hookHosts } from "../hosts/hosts.ts";
import { logKinds } from "../log.ts";
import { version } from "../version.ts";
import type { ArchiveCommand } from "./archive.ts";
import { addFiguresCommands } from "./figures-options.ts";
import { addGatewayCommand } from "./gateway-options.ts";
import { addLaunchCommand, addProxyCommand } from "./proxy-options.ts";
import { addPolicyCommands, addSetupCommands } from "./setup-options.ts";
import { addTrialCommand } from "./trial-options.ts";
import {
	aboveZero,
	addArchiving,
	addCommand,
	addHelpCommands,
	addHelpHints,
	authTokens,
	policyFile,
	refuseCommand,
	repeatable,
	seconds,
	shareAboveZero,
	wholeNumber,
	withArchive,
	withPolicy,
} from "./usage.ts";
import { errorOutput } from "./usage-errors.ts";

const examples = `
Examples:
  palimpsest                                            serve MCP on standard input and output
  palimpsest serve --http                               serve MCP at http://127.0.0.1:8765/mcp and /sse
  palimpsest proxy                                      mask what agent programs send, at http://127.0.0.1:8787
  palimpsest gateway -- npx -y SERVER                   shorten the large results of another MCP server
  palimpsest launch claude                              start Claude Code behind a proxy that keeps its context small
  palimpsest install claude-code                        add the server to a host's configuration
  palimpsest doctor                                     check that everything works
  palimpsest mask chat.json --set mask.window_turns=3   mask all but the last 3 tool turns
  palimpsest guard chat.json --context-window 32000     make it fit 32 000 tokens
  palimpsest compact chat.json --strategy llm-summary   replace old messages by a summary
  palimpsest rescue session.jsonl                       make a session that is over its window fit, to resume it
  npm test 2>&1 | palimpsest truncate                   keep head and tail of a long output
  palimpsest run --max-tokens 2000 -- npm test          run a command, print the important lines of its output
  git diff | palimpsest count - --model gpt-4o          count the tokens of a text
  palimpsest recall 5fmjfpr3fuqd --tail 40              read the original of a placeholder
  palimpsest restore masked.json                        put every original back
  palimpsest report session.jsonl                       show what fills the context window, and what would help
  palimpsest replay ~/.claude/projects                  show what each policy would have cost and lost there
  palimpsest trial my-tasks --program claude            run tasks of your own with and without it, and compare

FILE may be -, for standard input. JSON goes to standard output, messages for people to standard error.
Exit codes: 0 done, 1 refused input or something not found, 2 wrong usage, 3 guard: does not fit, 70 a defect of Palimpsest.`;

/** The command line. The file of a command is loaded when it is called. */
export function createProgram(): Command {
	const program = new Command("palimpsest")
		.description("Keeps the context of tool-calling agents small without breaking it.")
		.version(version)
		.enablePositionalOptions()
		.addHelpText("after", examples)
		.configureOutput(errorOutput)
		.exitOverride();
	addServeCommand(program);
	addProxyCommand(program);
	addGatewayCommand(program);
	addConversationCommands(program);
	addSessionCommands(program);
	addOutputCommands(program);
	addHookCommands(program);
	addLaunchCommand(program);
	addArchiveReaders(program);
	addReportCommands(program);
	addTrialCommand(program);
	addSetupCommands(program);
	addArchiveCommands(program);
	addPolicyCommands(program);
	addHelpCommands(program);
	addHelpHints(program);
	return program;
}

function withWindow(command: Command, model = "model for the window and the tokenizer"): Command {
	return command
		.option("--model <name>", model)
		.option("--context-window <tokens>", "window in tokens (default: the model's own)", aboveZero)
		.option("--reserve-tokens <tokens>", "tokens reserved for the answer", wholeNumber);
}

function addServeCommand(program: Command): void {
	const serve = program
		.command("serve", { isDefault: true })
		.description("Serve MCP on standard input and output (palimpsest without a command does this), or over HTTP.");
	withArchive(withPolicy(serve))
		.option("--http [host:port]", "serve over HTTP instead, by default at 127.0.0.1:8765")
		.option("--public-url <url>", "URL that clients use, such as the https://host of a proxy")
		.option("--stateless", "serve without sessions, for several processes behind a load balancer")
		.option(...authTokens)
		.option("--auth-issuer <url>", "accept JSON Web Tokens of this issuer")
		.option("--auth-audience <name>", "required audience; repeatable", repeatable)
		.option("--auth-jwks <url>", "URL of the issuer's keys, if its metadata does not name it")
		.option("--auth-scope <scope>", "required scope; repeatable", repeatable)
		.option("--requests-per-minute <count>", "most for each principal (default 600; 0: none)", wholeNumber)
		.option("--concurrent-calls <count>", "running calls of each principal (default 16; 0: none)", wholeNumber)
		.option("--call-seconds <seconds>", "longest call (default 300; 0: no limit)", seconds)
		.option("--sessions-per-principal <count>", "open sessions of each principal (default 100; 0: none)", wholeNumber)
		.option("--threads <count>", "worker threads for long calls (default: one per processor)", wholeNumber)
		.option("--max-queue <count>", "calls that may wait for a thread (default 64)", wholeNumber)
		.option(
			"--metrics [host:port]",
			"serve Prometheus metrics at /metrics of the server, or at an address of their own",
		)
		.option("--shutdown-seconds <seconds>", "time to finish running calls after a signal (default 10)", seconds)
		.addOption(new Option("--log <kind>", "format of standard error (default text)").choices([...logKinds]))
		.option("--tools <names>", "tools to offer, separated by commas (default: all)")
		.option("--hooks", "shorten results for the hooks of the host that starts it")
		.option("--allow-path <folder>", "folder of files that calls can name by path; repeatable", repeatable)
		.option("--max-message-bytes <bytes>", "largest message accepted (default 64 MiB, over HTTP 16 MiB)", wholeNumber)
		.allowExcessArguments()
		.action(async (options, { args: [extra] }) => {
			// Serving is the default, so an unknown command ends here.
			if (extra !== undefined) refuseExtra(program, extra);
			return (await import("./serve.ts")).serve(options);
		});
}

function refuseExtra(program: Command, extra: string): never {
	if (!program.commands.some((command) => command.name() === extra)) return refuseCommand(program, extra);
	return program.error(`error: expected the command first, then its options: palimpsest ${extra} …`);
}

function addConversationCommands(program: Command): void {
	const editing = (signature: string, description: string) =>
		addArchiving(program, signature, description).addOption(
			new Option("--respond-with <what>", "what to print").choices(["messages", "edits", "report"]).default("messages"),
		);

	const idle = [
		"--idle-seconds <count>",
		"seconds since the last call: once the cache is lost, masking is free",
	] as const;
	editing("mask <file>", "Print the conversation in FILE with old tool results masked.")
		.option(...idle, wholeNumber)
		.action(async (file, options) => (await import("./edit.ts")).mask(file, options));

	withWindow(editing("guard <file>", "Print the conversation in FILE, reduced to fit the model's context window."))
		.option(...idle, wholeNumber)
		.option("--last-response <file>", "the provider's last answer; if it was cut off, the model is asked for less")
		.action(async (file, options) => (await import("./edit.ts")).guard(file, options));

	const compacted = "Print the conversation in FILE with old results hidden, or a summary of old messages.";
	const compact = editing("compact <file>", compacted)
		.addOption(
			new Option("--strategy <name>", "how to compact (default: as the policy says)").choices(builtInStrategies),
		)
		.option("--force", "compact even if the window has room");
	withWindow(compact)
		.addOption(new Option("--request", "print the prompt for a summary, and ask no model").conflicts("summary"))
		.option("--summary <file>", "insert this summary")
		.option("--summary-token <token>", "token of the request that the summary answers")
		.action(async (file, options) => (await import("./edit.ts")).compact(file, options));
}

function addSessionCommands(program: Command): void {
	const dryRun = ["--dry-run", "print the results that would be removed, and write nothing"] as const;
	const rescues = "Rewrite a session that is over its window so that it fits, and print the command to resume it.";
	addArchiving(program, "rescue <file>", rescues)
		.option("--model <name>", "model for the window and the tokenizer (default: the session's)")
		.option("--context-window <tokens>", "window in tokens (default: the model's own)", aboveZero)
		.addOption(
			new Option("--target <share>", "share of the window that the session may fill")
				.argParser(shareAboveZero)
				.default(0.5),
		)
		.option(...dryRun)
		.action(async (file, options) => (await import("./sessions.ts")).rescue(file, options));

	addArchiving(program, "prune <file>", "Choose results to remove from a session, and rewrite it as rescue does.")
		.option("--biggest <count>", "remove the largest results without asking", aboveZero)
		.option("--stale", "remove results that a later text or call repeats, without asking")
		.option("--tool <name>", "remove results of this tool, without asking; repeatable", repeatable)
		.option(...dryRun)
		.action(async (file, options) => (await import("./sessions.ts")).prune(file, options));
}

function addOutputCommands(program: Command): void {
	const maxChars = (description: string) =>
		new Option("--max-chars <count>", description).argParser(wholeNumber).conflicts("maxTokens");

	addArchiving(program, "truncate [file]", "Print a shortened text, from FILE or standard input.")
		.addOption(maxChars("limit in characters; longer text is cut as the policy says"))
		.option("--max-tokens <count>", "limit in tokens; longer text is cut to its important lines", aboveZero)
		.addOption(
			new Option("--strategy <name>", "how it is cut (default: as the policy says)").choices(truncationStrategies),
		)
		.option("--focus <words>", "words to look for")
		.action(async (file: string | undefined, options, command: Command) => {
			// A log is piped, not typed.
			if (file === undefined && process.stdin.isTTY) command.error("error: missing required argument 'file'");
			return (await import("./text.ts")).truncate(file ?? "-", options);
		});

	const runs = "Run a command and print its output shortened; its exit code stays.";
	addArchiving(program, "run <command> [parameters...]", runs)
		.usage("[options] -- <command> [parameters...]")
		.option(
			"--max-tokens <count>",
			"limit in tokens (default 4000); longer output is cut to its important lines",
			aboveZero,
		)
		.addOption(maxChars("limit in characters, instead of tokens"))
		.action(async (name: string, parameters: string[], options) =>
			(await import("./text.ts")).run(name, parameters, options),
		);
}

function addArchiveReaders(program: Command): void {
	addCommand(program, "count <file>", "Print how many tokens the text in FILE has.")
		.option("--model <name>", "model for the tokenizer")
		.addOption(new Option("--encoding <name>", "encoding to count in").choices(encodingNames).conflicts("model"))
		.option("--json", "print JSON, with method and band")
		.action(async (file, options) => (await import("./text.ts")).count(file, options));

	const textOptions = ["lines", "chars", "grep", "context", "head", "tail"];
	const partOptions = [...textOptions, "maxTokens"];
	addArchiving(program, "recall [ref]", "Print the original of a placeholder, or a part of it.")
		.option("--tool-call-id <id>", "id of the tool call, instead of REF")
		.addOption(new Option("--search <words>", "find originals by these words").conflicts(["all", ...textOptions]))
		.option("--regex", "with --search: WORDS are a pattern in RE2's syntax")
		.option("--after <place>", "with --search: go on where an earlier search stopped")
		.option("--lines <range>", "lines to print, such as 120-180")
		.option("--chars <range>", "characters to print, such as 8000-12000")
		.option("--grep <pattern>", "print matching lines; a pattern in RE2's syntax")
		.option("--context <lines>", "lines to print around each match", wholeNumber)
		.option("--head <lines>", "print the first lines", wholeNumber)
		.option("--tail <lines>", "print the last lines", wholeNumber)
		.option("--max-tokens <count>", "most tokens to print (default 2000)", wholeNumber)
		.addOption(new Option("--all", "print the whole original").conflicts(["json", ...partOptions]))
		.option("--json", "as JSON")
		.action(async (ref, options) => (await import("./archive.ts")).recall(ref, options));

	const restores = "Print the conversation in FILE with every archived original put back.";
	addArchiving(program, "restore <file>", restores).action(async (file, options) =>
		(await import("./archive.ts")).restore(file, options),
	);
}

function addReportCommands(program: Command): void {
	const reports = "Print what fills the context window, and what masking would free.";
	const model = "model for the window and the tokenizer (default: the conversation's)";
	withWindow(addCommand(program, "report <file>", reports), model)
		.option("--all", "also the biggest results, and each preset")
		.option("--html <file>", "also write a page")
		.option("--json", "as JSON")
		.action(async (file, options) => (await import("./report.ts")).report(file, options));

	addFiguresCommands(program);

	addCommand(program, "replay <files...>", "Print the cost and the losses of each policy in recorded conversations.")
		.option(
			"--policies <names>",
			"raw, window:N, stride:N, break_even:N, clear:TRIGGER:KEEP:AT_LEAST, last:N:EVERY, opencode, gemini-cli, repeats, presets, balanced:low, policy files; with commas between",
		)
		.option(
			"--prices <read,write>",
			"prices of a token read from the cache and of one written to it, and as a third number of output (default: those of the model)",
		)
		.option(
			"--model <names>",
			"count and bill all sessions as of this model; several, with commas between, are compared (default: each session's own)",
		)
		.option("--context-window <tokens>", "window in tokens (default: the model's own)", aboveZero)
		.option("--min-turns <count>", "leave out conversations of fewer tool turns", wholeNumber)
		.option("--files", "also print a table for each file")
		.option("--all", "print all figures of each policy")
		.option("--html <file>", "write a page with plots")
		.addOption(
			new Option("--breaks", "print the provider's cache breaks and their causes instead").conflicts([
				"policies",
				"prices",
				"model",
				"contextWindow",
				"minTurns",
				"html",
				"windowTurns",
			]),
		)
		.option("--json", "as JSON")
		.option(
			"--window-turns <count>",
			"print only what masking all but these tool turns saves, file by file",
			wholeNumber,
		)
		.action(async (files, options) => (await import("./replay.ts")).replay(files, options));
}

function addArchiveCommands(program: Command): void {
	const archive = program.command("archive").description("Manage the archived originals.");
	const command = (name: ArchiveCommand, description: string) =>
		addArchiving(archive, name, description).action(async (options) =>
			(await import("./archive.ts")).runOnArchive(name, options),
		);
	command("stats", "Print where the archive is and what it holds.");
	command("sweep", "Delete the originals that are past their retention now.");
	command("export", "Print every original as a line of JSON.");
	command("clear", "Delete every original.").requiredOption("--yes", "confirm");
}

/** `palimpsest hook`: its answers, and entering it in the settings of agent programs. */
function addHookCommands(program: Command): void {
	const hook = program
		.command("hook")
		.description("Shorten tool results, and keep the words of people, in the hooks of agent programs.");
	const command = (signature: string, description: string) => hook.command(signature).description(description);
	const maxChars = [
		"--max-chars <count>",
		"limit in characters (default 16000); longer results are shortened",
	] as const;
	const locale = ["--locale <locale>", "language of the notices (default: the host entry's, else yours)"] as const;
	// Only their help comes from here: `hook.ts` answers them before the commands are made.
	for (const { name, title, events } of commandHookHosts) {
		const answer = command(name, `Answer ${events} of ${title} on standard input.`).option(...maxChars);
		withArchive(answer.option("--policy <file>", policyFile)).option(...locale);
	}
	command("opencode", "Print the plugin file for opencode.")
		.option(...maxChars, aboveZero)
		.option(...locale)
		.action(async (options) => (await import("./install.ts")).printOpencodePlugin(options));
	const changing = (name: string, description: string) =>
		command(name, description)
			.addArgument(new Argument("<host>", "the agent program").choices(hookHosts.map((host) => host.name).toSorted()))
			.option("--project", "in this project's settings, not in the user's")
			.option("--dry-run", "print what would change, and write nothing");
	changing("install", "Add the hook to a program's settings.")
		.option(...maxChars, aboveZero)
		.option(...locale)
		.action(async (host, options) => (await import("./install.ts")).installHook(host, options));
	changing("uninstall", "Remove the hook from a program's settings.").action(async (host, options) =>
		(await import("./install.ts")).uninstallHook(host, options),
	);
}
