import { Command, InvalidArgumentError, Option } from "commander";
import { withoutControls } from "../errors.ts";
import { nearestName } from "../policy/errors.ts";
import { builtInStrategies } from "../policy/names.ts";
import { encodingNames } from "../tokens/encoding-names.ts";
import { version } from "../version.ts";
import { addHelpCommand } from "./add-help-command.ts";
import { addServeOptions } from "./add-serve-options.ts";
import { addSetupCommands } from "./add-setup-commands.ts";
import { addTruncateCommands } from "./add-truncate-commands.ts";
import { addReplayOptions } from "./replay/add-replay-options.ts";

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
		.option("--allow-path <folder>", "folder whose files a call may name by path; repeatable", collect)
		.option("--max-message-bytes <bytes>", "largest message taken, if not 64 MiB (over HTTP 16 MiB)", wholeNumber)
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
		.option("--reserve-tokens <tokens>", "tokens to leave for the answer", wholeNumber)
		.option("--last-response <file>", "the provider's last answer: where it was cut off, asks for less")
		.action(async (file, options) => (await import("./guard.ts")).guard(file, options));

	keeping("compact <file>", "Print the conversation in FILE with old results hidden, or a summary of old messages.")
		.addOption(respondWith())
		.addOption(new Option("--strategy <name>", "how, if not as the policy says").choices(builtInStrategies))
		.option("--force", "also while the window has room")
		.option("--model <name>", "model whose window and tokenizer count")
		.option("--context-window <tokens>", "window in tokens, if not the model's own", aboveZero)
		.option("--reserve-tokens <tokens>", "tokens to leave for the answer", wholeNumber)
		.addOption(
			new Option("--request", "print what a summary is to be written from, and ask no model").conflicts("summary"),
		)
		.option("--summary <file>", "put in this summary")
		.option("--summary-token <token>", "the token of the request that it answers")
		.action(async (file, options) => (await import("./compact.ts")).compact(file, options));

	addTruncateCommands(program, { keeping, wholeNumber, aboveZero });

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
		.option("--context <lines>", "lines around each match", wholeNumber)
		.option("--head <lines>", "the first lines", wholeNumber)
		.option("--tail <lines>", "the last lines", wholeNumber)
		.option("--max-tokens <count>", "tokens to print at most, if not 2000", wholeNumber)
		.addOption(new Option("--all", "print all of it").conflicts(["json", ...choosingAPart]))
		.option("--json", "as JSON")
		.action(async (ref, options) => (await import("./recall.ts")).recall(ref, options));

	keeping("restore <file>", "Print the conversation in FILE with every archived original put back.")
		.option("--by-call-id", "look up what names no reference by its tool_call_id, which other conversations may share")
		.action(async (file, options) => (await import("./restore.ts")).restore(file, options));

	command("report <file>", "Print what fills the context window, and what each preset would free and cost.")
		.option("--model <name>", "model whose window and tokenizer count, if not as the conversation says")
		.option("--context-window <tokens>", "window in tokens, if not the model's own", aboveZero)
		.option("--reserve-tokens <tokens>", "tokens to leave for the answer", wholeNumber)
		.option("--html <file>", "write a page too")
		.option("--json", "as JSON")
		.action(async (file, options) => (await import("./report.ts")).report(file, options));

	addReplayOptions(
		command("replay <files...>", "Print what policies would have cost and lost in recorded conversations."),
		{ wholeNumber, aboveZero },
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
		.option("--set <key=value>", "set one policy field; repeatable", collect);
}

function withArchiveOptions(command: Command): Command {
	return command
		.option("--archive <where>", "where originals are kept: files (the default), none, redis://…, or a folder")
		.option("--namespace <name>", "under which name, if not default");
}

function collect(value: string, all: readonly string[] = []): readonly string[] {
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

const wholeNumber = wholeNumberFrom(0);
/** For a window or a limit: one of 0 has no room for anything. */
const aboveZero = wholeNumberFrom(1);

function wholeNumberFrom(least: number): (text: string) => number {
	return (text) => {
		const value = Number(text);
		if (text.trim() !== "" && Number.isSafeInteger(value) && value >= least) return value;
		throw new InvalidArgumentError(`Expected a whole number, ${least} or more.`);
	};
}
