import { Argument, Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { PalimpsestError, spelledFor, withoutControls } from "../errors.ts";
import { logKinds } from "../mcp/http/logs.ts";
import { nearestName } from "../policy/errors.ts";
import { builtInStrategies, truncationStrategies } from "../policy/names.ts";
import { encodingNames } from "../tokens/encodings.ts";
import { version } from "../version.ts";
import { complain, say } from "./input-output.ts";
import { addReplayOptions } from "./replay.ts";
import { exitCodes } from "./usage.ts";

const examples = `
Examples:
  palimpsest                                            serve MCP on standard input and output
  palimpsest serve --http                               serve MCP at http://127.0.0.1:8765/mcp and /sse
  palimpsest install claude-code                        enter the server in a host's configuration
  palimpsest doctor                                     look whether everything works
  palimpsest mask chat.json --set mask.window_turns=3   mask all but the last 3 tool turns
  palimpsest guard chat.json --context-window 32000     make it fit 32 000 tokens
  palimpsest compact chat.json --strategy llm-summary   put a summary in the place of old messages
  npm test 2>&1 | palimpsest truncate                   keep head and tail of a long output
  palimpsest run --max-tokens 2000 -- npm test          run a command, show what matters of its output
  git diff | palimpsest count - --model gpt-4o          how many tokens a text has
  palimpsest recall ku193re960gi257do532 --tail 40      read what a placeholder stands for
  palimpsest restore masked.json                        put every original back
  palimpsest report session.jsonl                       what fills the context window, and what to do about it
  palimpsest replay ~/.claude/projects                  what each policy would have cost and lost there

Where FILE stands, - is standard input. JSON goes to standard output, words for people to standard error.
Exit codes: 0 done, 1 refused input or something not found, 2 usage, 3 guard: it does not fit, 70 a defect of ours.`;

/** The command line: every command with its options. */
export function createProgram(): Command {
	const program = new Command("palimpsest")
		.description("Keeps the context of tool-calling agents small without breaking it.")
		.version(version)
		.addHelpText("after", examples)
		.showHelpAfterError("(palimpsest --help shows what there is)")
		// Names of options and values that are none are quoted as they were typed, or as a script has put them together.
		.configureOutput({ writeErr: (text) => void process.stderr.write(withoutControls(text)) })
		.exitOverride();

	const command = (signature: string, description: string) => {
		const name = program.command(signature, signature.startsWith("serve") ? { isDefault: true } : {});
		return withPolicyOptions(name.description(description)).exitOverride();
	};
	const keeping = (signature: string, description: string) => withArchiveOptions(command(signature, description));

	addServeOptions(
		keeping("serve", "Serve MCP on standard input and output (what palimpsest alone does), or over HTTP."),
	)
		.option("--allow-path <folder>", "folder whose files a call may name by path; repeatable", repeatable)
		.option("--max-message-bytes <bytes>", "largest message taken, if not 64 MiB (over HTTP 16 MiB)", parseWholeNumber)
		.allowExcessArguments()
		.action(async (options, { args: [extra] }) => {
			// Serving is the default, so whatever is no command ends here.
			if (extra !== undefined) refuseExtra(program, extra);
			// Loaded on demand: the other commands start in half the time without the MCP SDK.
			const { serve } = await import("./serve.ts");
			return serve(options);
		});

	keeping("mask <file>", "Print the conversation in FILE with old tool results masked.")
		.addOption(respondWith())
		.action(async (file, options) => (await import("./mask.ts")).mask(file, options));

	keeping("guard <file>", "Print the conversation in FILE made to fit the model's context window.")
		.addOption(respondWith())
		.option("--model <name>", "model whose window and tokenizer count")
		.option("--context-window <tokens>", "window in tokens, if not the model's own", aboveZero)
		.option("--reserve-tokens <tokens>", "tokens to leave for the answer", parseWholeNumber)
		.option("--last-response <file>", "the provider's last answer: where it was cut off, asks for less")
		.action(async (file, options) => (await import("./guard.ts")).guard(file, options));

	keeping("compact <file>", "Print the conversation in FILE with old results hidden, or a summary of old messages.")
		.addOption(respondWith())
		.addOption(new Option("--strategy <name>", "how, if not as the policy says").choices(builtInStrategies))
		.option("--force", "also while the window has room")
		.option("--model <name>", "model whose window and tokenizer count")
		.option("--context-window <tokens>", "window in tokens, if not the model's own", aboveZero)
		.option("--reserve-tokens <tokens>", "tokens to leave for the answer", parseWholeNumber)
		.addOption(
			new Option("--request", "print what a summary is to be written from, and ask no model").conflicts("summary"),
		)
		.option("--summary <file>", "put in this summary")
		.option("--summary-token <token>", "the token of the request that it answers")
		.action(async (file, options) => (await import("./compact.ts")).compact(file, options));

	addTruncateCommands(program, { keeping, wholeNumber: parseWholeNumber, aboveZero });

	command("count <file>", "Print how many tokens the text in FILE has.")
		.option("--model <name>", "model whose tokenizer counts")
		.addOption(encoding())
		.option("--json", "as JSON, with method and band")
		.action(async (file, options) => (await import("./count.ts")).count(file, options));

	keeping("recall [ref]", "Print what a placeholder stands for, or a part of it.")
		.option("--tool-call-id <id>", "what was kept of this call, in place of REF")
		.option("--lines <range>", "such as 120-180")
		.option("--chars <range>", "such as 8000-12000")
		.option("--grep <pattern>", "lines that match, in RE2's syntax")
		.option("--context <lines>", "lines around each match", parseWholeNumber)
		.option("--head <lines>", "the first lines", parseWholeNumber)
		.option("--tail <lines>", "the last lines", parseWholeNumber)
		.option("--max-tokens <count>", "tokens to print at most, if not 2000", parseWholeNumber)
		.addOption(new Option("--all", "print all of it").conflicts(["json", ...choosingAPart]))
		.option("--json", "as JSON")
		.action(async (ref, options) => (await import("./recall.ts")).recall(ref, options));

	keeping("restore <file>", "Print the conversation in FILE with every archived original put back.")
		.option("--by-call-id", "look up what names no reference by its tool_call_id, which other conversations may share")
		.action(async (file, options) => (await import("./restore.ts")).restore(file, options));

	command("report <file>", "Print what fills the context window, and what each preset would free and cost.")
		.option("--model <name>", "model whose window and tokenizer count, if not as the conversation says")
		.option("--context-window <tokens>", "window in tokens, if not the model's own", aboveZero)
		.option("--reserve-tokens <tokens>", "tokens to leave for the answer", parseWholeNumber)
		.option("--html <file>", "write a page too")
		.option("--json", "as JSON")
		.action(async (file, options) => (await import("./report.ts")).report(file, options));

	addReplayOptions(
		command("replay <files...>", "Print what policies would have cost and lost in recorded conversations."),
		{ wholeNumber: parseWholeNumber, aboveZero },
	).action(async (files, options) => (await import("./replay.ts")).replay(files, options));

	addSetupCommands(program, keeping);
	addArchiveCommands(program);
	addPolicyCommands(program);
	addHelpCommand(program);
	return program;
}

function refuseExtra(program: Command, extra: string): never {
	const known = program.commands.map((command) => command.name());
	if (known.includes(extra))
		program.error(`error: expected the command first, then its options: palimpsest ${extra} …`);
	const near = nearestName(extra, known);
	program.error(`error: unknown command '${extra}'${near === null ? "" : `. Did you mean ${near}?`}`);
}

function addArchiveCommands(program: Command): void {
	const archive = program.command("archive").description("Look after what was taken out and kept.").exitOverride();
	const command = (name: string, description: string) =>
		withArchiveOptions(withPolicyOptions(archive.command(name).description(description))).exitOverride();
	const commands = () => import("./archive.ts");
	command("stats", "Print where it is and what it holds.").action(async (options) =>
		(await commands()).showArchive(options),
	);
	command("sweep", "Throw away what the retention says, now.").action(async (options) =>
		(await commands()).sweepArchive(options),
	);
	command("export", "Print every original as a line of JSON.").action(async (options) =>
		(await commands()).exportArchive(options),
	);
	command("clear", "Throw away all of it.")
		.requiredOption("--yes", "say that this is meant")
		.action(async (options) => (await commands()).clearArchive(options));
}

const policyCommands = () => import("./policy.ts");

function addPolicyCommands(program: Command): void {
	const policy = program.command("policy").description("Show or check the policy.").exitOverride();
	withPolicyOptions(policy.command("show").description("Print the policy in force.")).action(async (options) =>
		(await policyCommands()).showPolicy(options),
	);
	policy
		.command("presets [name]")
		.description("List the presets, or print one.")
		.action(async (name) => (await policyCommands()).showPresets(name));
	policy
		.command("schema")
		.description("Print the JSON Schema of a policy.")
		.action(async () => (await policyCommands()).showPolicySchema());
	policy
		.command("reference")
		.description("Print the reference page.")
		.action(async () => (await policyCommands()).showPolicyReference());
	withPolicyOptions(policy.command("check [file]").description("Check a policy file, or the configuration.")).action(
		async (file, options) => (await policyCommands()).checkPolicy(file, options),
	);
	for (const one of policy.commands) one.exitOverride();
}

const choosingAPart = ["lines", "chars", "grep", "context", "head", "tail", "maxTokens"];

function withPolicyOptions(command: Command): Command {
	return command
		.option("--policy <file>", "policy file; by default palimpsest.toml here, else in the configuration folder")
		.option("--set <key=value>", "set one policy field; repeatable", repeatable);
}

function withArchiveOptions(command: Command): Command {
	return command
		.option("--archive <where>", "where originals are kept: files (the default), none, redis://…, or a folder")
		.option("--namespace <name>", "under which name, if not default");
}

function repeatable(value: string, all: readonly string[] = []): readonly string[] {
	return [...all, value];
}

function respondWith(): Option {
	return new Option("--respond-with <what>", "what to print")
		.choices(["messages", "edits", "report"])
		.default("messages");
}

function encoding(): Option {
	return new Option("--encoding <name>", "encoding to count in").choices(encodingNames).conflicts("model");
}

const parseWholeNumber = wholeNumberFrom(0);

/** For a window or a limit: one of 0 has no room for anything. */
const aboveZero = wholeNumberFrom(1);

/**
 * Adds `help [command...]`, to the commands that have commands of their own too. Commander's answers an unknown name with
 * the help of what is above it, without a word.
 */
export function addHelpCommand(program: Command): void {
	for (const command of [program, ...program.commands.filter(({ commands }) => commands.length > 0)]) {
		command.helpCommand(false);
		command
			.command("help [command...]")
			.description("Print the help of a command.")
			.exitOverride()
			.action((names: readonly string[]) => {
				const found = names.reduce((above, name) => commandNamed(above, name), command);
				found.outputHelp();
			});
	}
}

function commandNamed(above: Command, name: string): Command {
	const found = above.commands.find((one) => one.name() === name);
	if (found) return found;
	const known = above.commands.map((one) => one.name());
	const near = nearestName(name, known);
	return above.error(`error: unknown command '${name}'${near === null ? "" : `. Did you mean ${near}?`}`);
}

/** Adds what serving over HTTP takes, and the log. */
export function addServeOptions(command: Command): Command {
	return command
		.option("--http [host:port]", "serve over HTTP instead, by default at 127.0.0.1:8765")
		.option("--public-url <url>", "where clients reach it, if not there: the https://host of a proxy")
		.option("--stateless", "without sessions, for several processes behind a balancer")
		.option("--auth-tokens <file>", "who may use it: lines of NAME:TOKEN or NAME:sha256:HEX")
		.option("--auth-issuer <url>", "take JSON Web Tokens of this issuer")
		.option("--auth-audience <name>", "for whom they must be; repeatable", collect)
		.option("--auth-jwks <url>", "where the issuer's keys are, if its metadata does not say so")
		.option("--auth-scope <scope>", "what they must allow; repeatable", collect)
		.option("--requests-per-minute <count>", "of one principal, if not 600; 0 for any number", wholeNumber)
		.option("--concurrent-calls <count>", "of one principal, if not 16; 0 for any number", wholeNumber)
		.option("--call-seconds <seconds>", "longest call, if not 300; 0 for any time", seconds)
		.option("--sessions-per-principal <count>", "if not 100; 0 for any number", wholeNumber)
		.option("--threads <count>", "for long calls, if not one less than processors", wholeNumber)
		.option("--max-queue <count>", "calls that may wait for a thread, if not 64", wholeNumber)
		.option("--metrics [host:port]", "for Prometheus, at /metrics of the server, or on an address of their own")
		.option("--shutdown-seconds <seconds>", "for what runs when a signal ends the server, if not 10", seconds)
		.addOption(new Option("--log <kind>", "what standard error says, if not text").choices([...logKinds]));
}

function collect(value: string, all: readonly string[] = []): readonly string[] {
	return [...all, value];
}

const wholeNumber = wholeNumberFrom(0);

/** Reads an option that is a whole number, `least` or more. */
export function wholeNumberFrom(least: number): (text: string) => number {
	return (text) => {
		const value = Number(text);
		if (text.trim() !== "" && Number.isSafeInteger(value) && value >= least) return value;
		throw new InvalidArgumentError(`Expected a whole number, ${least} or more.`);
	};
}

function seconds(text: string): number {
	const value = Number(text);
	// A timer for longer than this many seconds fires at once.
	if (text.trim() !== "" && value >= 0 && value <= 2_000_000) return value;
	throw new InvalidArgumentError("Expected a number of seconds, 0 or more, up to 2000000.");
}

/** Adds the commands that set the server up: `install`, `uninstall` and `doctor`. */
export function addSetupCommands(program: Command, keeping: (signature: string, description: string) => Command): void {
	const command = (signature: string, description: string) =>
		program.command(signature).description(description).exitOverride();

	command("install [host]", "Enter the server in a host's configuration, or list the hosts.")
		.option("--project", "for this project alone")
		.option("--dry-run", "show what would change and write nothing")
		.option("--preset <name>", "policy to start from, if not balanced")
		.option("--locale <locale>", "language of placeholders, if not the preset's")
		.option("--archive <where>", "where originals are kept, if not in the user's state folder")
		.option("--local", "start this very program, not the one that npm brings")
		.action(async (host, options) => (await import("./install.ts")).install(host, options));

	command("uninstall <host>", "Take the server out of a host's configuration again.")
		.option("--project", "of this project")
		.option("--dry-run", "show what would change and write nothing")
		.action(async (host, options) => (await import("./install.ts")).uninstall(host, options));

	keeping("doctor", "Look at everything that has to work, and say what to do about what does not.")
		.option("--http <host:port>", "address that serve --http is to have, if not 127.0.0.1:8765")
		.option("--json", "as JSON")
		.action(async (options) => (await import("./doctor.ts")).doctor(options));
}

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
	const installs = () => import("./hook.ts");
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

/**
 * Runs the command line and sets the exit code: 0 done, 1 refused input (one line on standard error), 2 usage,
 * 3 a conversation that `guard` cannot make fit, 70 a defect of ours.
 */
export async function runProgram(program: Command, argv: readonly string[]): Promise<void> {
	process.stdout.on("error", ({ code, message }: NodeJS.ErrnoException) => {
		// A reader that closed the pipe (`palimpsest … | head`) has all it wanted, and changes no exit code.
		if (code === "EPIPE") process.exit();
		say(`standard output cannot be written: ${code ?? message}`);
		process.exit(exitCodes.refusedInput);
	});
	// Where nobody reads the words for people, or no room is left for them, the answer still counts, and a server goes on.
	process.stderr.on("error", () => {});
	try {
		await program.parseAsync(argv);
	} catch (error) {
		process.exitCode = exitCodeOf(error);
	}
}

function exitCodeOf(error: unknown): number {
	// Commander has already said what is wrong, or printed the help that was asked for.
	if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitCodes.usage;
	if (error instanceof PalimpsestError) {
		say(`[${error.code}] ${spelledFor("command", error)}`);
		return exitCodes.refusedInput;
	}
	// A defect is for those who mend it: all of the stack.
	const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
	complain(`palimpsest: [internal] ${stack}`);
	return exitCodes.defect;
}
