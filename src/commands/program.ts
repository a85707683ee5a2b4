import { Argument, Command, Option } from "commander";
import { withoutControls, withoutCredentials } from "../errors.ts";
import { hookHosts } from "../hosts/hook-answers.ts";
import { logKinds } from "../mcp/http/logs.ts";
import { nearestName } from "../policy/errors.ts";
import { builtInStrategies, truncationStrategies } from "../policy/names.ts";
import { encodingNames } from "../tokens/encodings.ts";
import { version } from "../version.ts";
import type { ArchiveCommand } from "./archive.ts";
import {
	aboveZero,
	addArchiving,
	addCommand,
	policyFile,
	repeatable,
	seconds,
	shareAboveZero,
	shareOfAll,
	wholeNumber,
	withArchive,
	withPolicy,
} from "./usage.ts";

const examples = `
Examples:
  palimpsest                                            serve MCP on standard input and output
  palimpsest serve --http                               serve MCP at http://127.0.0.1:8765/mcp and /sse
  palimpsest proxy                                      mask what agent programs send, at http://127.0.0.1:8787
  palimpsest launch claude                              start Claude Code behind a proxy that keeps its context small
  palimpsest install claude-code                        enter the server in a host's configuration
  palimpsest doctor                                     look whether everything works
  palimpsest mask chat.json --set mask.window_turns=3   mask all but the last 3 tool turns
  palimpsest guard chat.json --context-window 32000     make it fit 32 000 tokens
  palimpsest compact chat.json --strategy llm-summary   put a summary in the place of old messages
  palimpsest rescue session.jsonl                       make a session that is over its window fit, to resume it
  npm test 2>&1 | palimpsest truncate                   keep head and tail of a long output
  palimpsest run --max-tokens 2000 -- npm test          run a command, show what matters of its output
  git diff | palimpsest count - --model gpt-4o          how many tokens a text has
  palimpsest recall fra193ke --tail 40      read the original behind a placeholder
  palimpsest restore masked.json                        put every original back
  palimpsest report session.jsonl                       what fills the context window, and what to do about it
  palimpsest replay ~/.claude/projects                  what each policy would have cost and lost there

Where FILE stands, - is standard input. JSON goes to standard output, words for people to standard error.
Exit codes: 0 done, 1 refused input or something not found, 2 usage, 3 guard: it does not fit, 70 a defect of ours.`;

/** The command line. The file of a command is loaded when it is called. */
export function createProgram(): Command {
	const program = new Command("palimpsest")
		.description("Keeps the context of tool-calling agents small without breaking it.")
		.version(version)
		.addHelpText("after", examples)
		.showHelpAfterError("(palimpsest --help shows what there is)")
		// Commander quotes unknown options and values as they came.
		.configureOutput({ writeErr: (text) => void process.stderr.write(withoutCredentials(withoutControls(text))) })
		.exitOverride();
	addServeCommand(program);
	addProxyCommand(program);
	addConversationCommands(program);
	addSessionCommands(program);
	addOutputCommands(program);
	addHookCommands(program);
	addLaunchCommand(program);
	addArchiveReaders(program);
	addReportCommands(program);
	addSetupCommands(program);
	addArchiveCommands(program);
	addPolicyCommands(program);
	addHelpCommands(program);
	return program;
}

function withWindow(command: Command, model = "model whose window and tokenizer count"): Command {
	return command
		.option("--model <name>", model)
		.option("--context-window <tokens>", "window in tokens, if not the model's own", aboveZero)
		.option("--reserve-tokens <tokens>", "tokens to leave for the answer", wholeNumber);
}

function addServeCommand(program: Command): void {
	const serve = program
		.command("serve", { isDefault: true })
		.description("Serve MCP on standard input and output (what palimpsest alone does), or over HTTP.");
	withArchive(withPolicy(serve))
		.option("--http [host:port]", "serve over HTTP instead, by default at 127.0.0.1:8765")
		.option("--public-url <url>", "where clients reach it, if not there: the https://host of a proxy")
		.option("--stateless", "without sessions, for several processes behind a balancer")
		.option("--auth-tokens <file>", "who may use it: lines of NAME:TOKEN or NAME:sha256:HEX")
		.option("--auth-issuer <url>", "take JSON Web Tokens of this issuer")
		.option("--auth-audience <name>", "for whom they must be; repeatable", repeatable)
		.option("--auth-jwks <url>", "where the issuer's keys are, if its metadata does not say so")
		.option("--auth-scope <scope>", "what they must allow; repeatable", repeatable)
		.option("--requests-per-minute <count>", "of one principal, if not 600; 0 for any number", wholeNumber)
		.option("--concurrent-calls <count>", "of one principal, if not 16; 0 for any number", wholeNumber)
		.option("--call-seconds <seconds>", "longest call, if not 300; 0 for any time", seconds)
		.option("--sessions-per-principal <count>", "if not 100; 0 for any number", wholeNumber)
		.option("--threads <count>", "for long calls, if not one per processor", wholeNumber)
		.option("--max-queue <count>", "calls that may wait for a thread, if not 64", wholeNumber)
		.option("--metrics [host:port]", "for Prometheus, at /metrics of the server, or on an address of their own")
		.option("--shutdown-seconds <seconds>", "for what runs when a signal ends the server, if not 10", seconds)
		.addOption(new Option("--log <kind>", "what standard error says, if not text").choices([...logKinds]))
		.option("--tools <names>", "tools to offer, separated by commas, if not all")
		.option("--hooks", "let hooks of the host that starts it ask for shortened results")
		.option("--allow-path <folder>", "folder whose files a call may name by path; repeatable", repeatable)
		.option("--max-message-bytes <bytes>", "largest message taken, if not 64 MiB (over HTTP 16 MiB)", wholeNumber)
		.allowExcessArguments()
		.action(async (options, { args: [extra] }) => {
			// Serving is the default, so an unknown command ends here.
			if (extra !== undefined) refuseExtra(program, extra);
			return (await import("./serve.ts")).serve(options);
		});
}

function addProxyCommand(program: Command): void {
	const port = ["--port <port>", "port of the proxy, if not 8787", wholeNumber] as const;
	const proxy = program
		.command("proxy")
		.description("Mask old tool results in what agent programs send to their models.");
	withArchive(withPolicy(proxy))
		.option(...port)
		.option("--host <host>", "address to listen on, which has to be on loopback")
		.option("--upstream <api=url>", "base URL of anthropic, openai or gemini, if not the provider's own", repeatable)
		.option("--holdout <share>", "share of conversations that are never edited, to compare with", shareOfAll)
		.addOption(new Option("--log <kind>", "what standard error says, if not text").choices([...logKinds]))
		.action(async (options) => (await import("./proxy.ts")).proxy(options));
	proxy
		.command("status")
		.description("Print what a running proxy has sent, left out and billed.")
		.option(...port)
		.option("--json", "as JSON")
		.action(async (_, command: Command) => (await import("./proxy.ts")).proxyStatus(command.optsWithGlobals()));
}

function refuseExtra(program: Command, extra: string): never {
	if (!program.commands.some((command) => command.name() === extra)) return refuseCommand(program, extra);
	return program.error(`error: expected the command first, then its options: palimpsest ${extra} …`);
}

function refuseCommand(above: Command, name: string): never {
	const names = above.commands.map((command) => command.name());
	const near = nearestName(name, names);
	return above.error(`error: unknown command '${name}'${near === null ? "" : `. Did you mean ${near}?`}`);
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

	withWindow(editing("guard <file>", "Print the conversation in FILE made to fit the model's context window."))
		.option(...idle, wholeNumber)
		.option("--last-response <file>", "the provider's last answer: where it was cut off, asks for less")
		.action(async (file, options) => (await import("./edit.ts")).guard(file, options));

	const compacted = "Print the conversation in FILE with old results hidden, or a summary of old messages.";
	const compact = editing("compact <file>", compacted)
		.addOption(new Option("--strategy <name>", "how, if not as the policy says").choices(builtInStrategies))
		.option("--force", "also while the window has room");
	withWindow(compact)
		.addOption(new Option("--request", "print the prompt for a summary, and ask no model").conflicts("summary"))
		.option("--summary <file>", "put in this summary")
		.option("--summary-token <token>", "the token of the request that it answers")
		.action(async (file, options) => (await import("./edit.ts")).compact(file, options));
}

function addSessionCommands(program: Command): void {
	const dryRun = ["--dry-run", "print what would be taken out, and write nothing"] as const;
	const rescues = "Write a session that is over its window anew so that it fits, and print the command to resume it.";
	addArchiving(program, "rescue <file>", rescues)
		.option("--model <name>", "model whose window and tokenizer count, if not as the session says")
		.option("--context-window <tokens>", "window in tokens, if not the model's own", aboveZero)
		.addOption(
			new Option("--target <share>", "share of the window that it may fill").argParser(shareAboveZero).default(0.5),
		)
		.option(...dryRun)
		.action(async (file, options) => (await import("./sessions.ts")).rescue(file, options));

	addArchiving(program, "prune <file>", "Choose results to take out of a session, and write it anew as rescue does.")
		.option("--biggest <count>", "the largest, without asking", aboveZero)
		.option("--stale", "those that a later result makes out of date, without asking")
		.option("--tool <name>", "those of this tool, without asking; repeatable", repeatable)
		.option(...dryRun)
		.action(async (file, options) => (await import("./sessions.ts")).prune(file, options));
}

function addOutputCommands(program: Command): void {
	const maxChars = (description: string) =>
		new Option("--max-chars <count>", description).argParser(wholeNumber).conflicts("maxTokens");

	addArchiving(program, "truncate [file]", "Print the text in FILE, or of standard input, shortened.")
		.addOption(maxChars("characters up to which it is left whole; cut as the policy says past them"))
		.option("--max-tokens <count>", "tokens up to which it is left whole; what matters of it past them", aboveZero)
		.addOption(
			new Option("--strategy <name>", "how it is cut, if not as the policy says").choices(truncationStrategies),
		)
		.option("--focus <words>", "what you are after in it")
		.action(async (file: string | undefined, options, command: Command) => {
			// Nobody types a log.
			if (file === undefined && process.stdin.isTTY) command.error("error: missing required argument 'file'");
			return (await import("./text.ts")).truncate(file ?? "-", options);
		});

	const runs = "Run a command and print its output shortened; its exit code stays.";
	addArchiving(program, "run <command> [parameters...]", runs)
		.usage("[options] -- <command> [parameters...]")
		.option("--max-tokens <count>", "tokens up to which the output is left whole, if not 4000", aboveZero)
		.addOption(maxChars("the same in characters"))
		.action(async (name: string, parameters: string[], options) =>
			(await import("./text.ts")).run(name, parameters, options),
		);
}

function addLaunchCommand(program: Command): void {
	const launches = "Start an agent program behind a proxy that keeps its context small; its settings stay as they are.";
	addArchiving(program, "launch <program> [parameters...]", launches)
		.usage("[options] <program> [-- parameters...]")
		.option("--dry-run", "print the environment, flags and files that the program would get, and start nothing")
		.action(async (name: string, parameters: string[], options) =>
			(await import("./proxy.ts")).launch(name, parameters, options),
		);
}

function addArchiveReaders(program: Command): void {
	addCommand(program, "count <file>", "Print how many tokens the text in FILE has.")
		.option("--model <name>", "model whose tokenizer counts")
		.addOption(new Option("--encoding <name>", "encoding to count in").choices(encodingNames).conflicts("model"))
		.option("--json", "as JSON, with method and band")
		.action(async (file, options) => (await import("./text.ts")).count(file, options));

	const partOptions = ["lines", "chars", "grep", "context", "head", "tail", "maxTokens"];
	addArchiving(program, "recall [ref]", "Print the original behind a placeholder, or a part of it.")
		.option("--tool-call-id <id>", "what was kept of this call, in place of REF")
		.option("--lines <range>", "such as 120-180")
		.option("--chars <range>", "such as 8000-12000")
		.option("--grep <pattern>", "lines that match, in RE2's syntax")
		.option("--context <lines>", "lines around each match", wholeNumber)
		.option("--head <lines>", "the first lines", wholeNumber)
		.option("--tail <lines>", "the last lines", wholeNumber)
		.option("--max-tokens <count>", "tokens to print at most, if not 2000", wholeNumber)
		.addOption(new Option("--all", "print all of it").conflicts(["json", ...partOptions]))
		.option("--json", "as JSON")
		.action(async (ref, options) => (await import("./archive.ts")).recall(ref, options));

	addArchiving(program, "restore <file>", "Print the conversation in FILE with every archived original put back.")
		.option("--by-call-id", "look up what names no reference by its tool_call_id, which other conversations may share")
		.action(async (file, options) => (await import("./archive.ts")).restore(file, options));
}

function addReportCommands(program: Command): void {
	const reports = "Print what fills the context window, and what each preset would free and cost.";
	const model = "model whose window and tokenizer count, if not as the conversation says";
	withWindow(addCommand(program, "report <file>", reports), model)
		.option("--html <file>", "write a page too")
		.option("--json", "as JSON")
		.action(async (file, options) => (await import("./report.ts")).report(file, options));

	addCommand(program, "replay <files...>", "Print what policies would have cost and lost in recorded conversations.")
		.option(
			"--policies <names>",
			"raw, window:N, stride:N, break_even:N, clear:TRIGGER:KEEP:AT_LEAST, last:N:EVERY, opencode, gemini-cli, presets, balanced:low, policy files; with commas between",
		)
		.option(
			"--prices <read,write>",
			"of a token read from the cache and of one written to it, and with a third number of output, if not as the policy says",
		)
		.option("--model <name>", "bill in US dollars as its provider does, and count its tokens")
		.option("--context-window <tokens>", "window in tokens, if not the model's own", aboveZero)
		.option("--min-turns <count>", "leave out conversations of fewer tool turns", wholeNumber)
		.option("--files", "a table for each file too")
		.option("--html <file>", "write a page with plots")
		.option("--json", "as JSON")
		.option("--window-turns <count>", "only what masking all but these tool turns saves, file by file", wholeNumber)
		.action(async (files, options) => {
			const { replay } = await import("./replay.ts");
			return replay(files, options);
		});
}

function addSetupCommands(program: Command): void {
	const command = (signature: string, description: string) => program.command(signature).description(description);

	command("install [host]", "Enter the server in a host's configuration, or list the hosts.")
		.option("--project", "for this project alone")
		.option("--dry-run", "show what would change and write nothing")
		.option("--preset <name>", "policy to start from, if not balanced")
		.option("--locale <locale>", "language of placeholders, if not the preset's")
		.option("--archive <where>", "where originals are kept, if not in the user's state folder")
		.option("--tools <names>", "tools to offer, separated by commas, if not all")
		.option("--local", "start this very program, not the one that npm brings; a checkout always does")
		.action(async (host, options) => (await import("./install.ts")).install(host, options));

	command("uninstall <host>", "Take the server out of a host's configuration again.")
		.option("--project", "of this project")
		.option("--dry-run", "show what would change and write nothing")
		.action(async (host, options) => (await import("./install.ts")).uninstall(host, options));

	addArchiving(program, "doctor", "Look at everything that has to work, and say what to do about what does not.")
		.option("--http <host:port>", "address that serve --http is to have, if not 127.0.0.1:8765")
		.option("--json", "as JSON")
		.action(async (options) => (await import("./doctor.ts")).doctor(options));
}

function addArchiveCommands(program: Command): void {
	const archive = program.command("archive").description("Look after what was taken out and kept.");
	const command = (name: ArchiveCommand, description: string) =>
		addArchiving(archive, name, description).action(async (options) =>
			(await import("./archive.ts")).runOnArchive(name, options),
		);
	command("stats", "Print where it is and what it holds.");
	command("sweep", "Delete now what the retention no longer keeps.");
	command("export", "Print every original as a line of JSON.");
	command("clear", "Throw away all of it.").requiredOption("--yes", "say that this is meant");
}

function addPolicyCommands(program: Command): void {
	const policy = program.command("policy").description("Show or check the policy.");
	const commands = () => import("./policy.ts");
	addCommand(policy, "show", "Print the policy in force.").action(async (options) =>
		(await commands()).showPolicy(options),
	);
	const command = (signature: string, description: string) => policy.command(signature).description(description);
	command("presets [name]", "List the presets, or print one.").action(async (name) =>
		(await commands()).showPresets(name),
	);
	command("schema", "Print the JSON Schema of a policy.").action(async () => (await commands()).showPolicySchema());
	command("reference", "Print the reference page.").action(async () => (await commands()).showPolicyReference());
	addCommand(policy, "check [file]", "Check a policy file, or the configuration.").action(async (file, options) =>
		(await commands()).checkPolicy(file, options),
	);
}

/** Commander's own `help` answers an unknown name with the help of the command above it and no error. */
function addHelpCommands(program: Command): void {
	for (const command of [program, ...program.commands.filter(({ commands }) => commands.length > 0)]) {
		command.helpCommand(false);
		command
			.command("help [command...]")
			.description("Print the help of a command.")
			.action((names: readonly string[]) => {
				const named = (above: Command, name: string) =>
					above.commands.find((one) => one.name() === name) ?? refuseCommand(above, name);
				names.reduce(named, command).outputHelp();
			});
	}
}

/** `palimpsest hook`: its answers, and entering it in the settings of agent programs. */
function addHookCommands(program: Command): void {
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
		.action(async (options) => (await import("./install.ts")).printOpencodePlugin(options));
	const changing = (name: string, description: string) =>
		command(name, description)
			.addArgument(new Argument("<host>", "the agent program").choices(hookHosts))
			.option("--project", "in the settings of the project here, not in those of the user")
			.option("--dry-run", "print what would change, and write nothing");
	changing("install", "Enter the hook in a program's settings.")
		.option(...maxChars, aboveZero)
		.option(...locale)
		.action(async (host, options) => (await import("./install.ts")).installHook(host, options));
	changing("uninstall", "Take the hook out of a program's settings.").action(async (host, options) =>
		(await import("./install.ts")).uninstallHook(host, options),
	);
}
