import { type Command, CommanderError, InvalidArgumentError } from "commander";
import { nearestName, quote } from "../engine/policy/errors.ts";
import { localeNames } from "../engine/policy/names.ts";
import { PalimpsestError, spelledFor } from "../errors.ts";
import { complain, say } from "./input-output.ts";

export const exitCodes = {
	refusedInput: 1,
	usage: 2,
	/** `guard` printed the smallest view, which is still over the budget. */
	doesNotFit: 3,
	defect: 70,
} as const;

const ownUsage = "palimpsest.usage";

/** Refuses wrong use of the command line. `runProgram` prints the message as commander prints its own. */
export function refuseUsage(message: string): never {
	throw new CommanderError(exitCodes.usage, ownUsage, message);
}

/** The line below an error of usage. */
function helpHint(command: Command): string {
	const names: string[] = [];
	for (let at: Command | null = command; at; at = at.parent) names.unshift(at.name());
	return `See ${names.join(" ")} --help.`;
}

export function refuseUnknown(what: string, name: string, known: readonly string[]): never {
	const near = nearestName(name, known);
	const hint = near === null ? "" : ` Did you mean ${near}?`;
	return refuseUsage(`unknown ${what} ${quote(name)}.${hint} Known: ${known.join(", ")}`);
}

export function checkLocale(locale: string | undefined): string | undefined {
	const isKnown = locale === undefined || localeNames.some((known) => known === locale);
	return isKnown ? locale : refuseUnknown("--locale", locale, localeNames);
}

/** Names with commas between them. */
export function listOfNames(text = ""): readonly string[] {
	return text.split(",").flatMap((name) => name.trim() || []);
}

/** Runs the command line and sets the exit code. */
export async function runProgram(program: Command, argv: readonly string[]): Promise<void> {
	process.stdout.on("error", ({ code, message }: NodeJS.ErrnoException) => {
		// A reader that closes the pipe (`palimpsest … | head`) is not an error.
		if (code === "EPIPE") process.exit();
		say(`standard output cannot be written: ${code ?? message}`);
		process.exit(exitCodes.refusedInput);
	});
	// If standard error is closed, messages for people are lost; the answer still counts, and a server continues.
	process.stderr.on("error", () => {});
	let running = program;
	program.hook("preAction", (_, command) => {
		running = command;
	});
	try {
		await program.parseAsync(argv);
	} catch (error) {
		process.exitCode = exitCodeOf(error, running);
	}
}

function exitCodeOf(error: unknown, running: Command): number {
	if (error instanceof CommanderError && error.code === ownUsage) {
		complain(`error: ${error.message}\n${helpHint(running)}`);
	}
	// Commander has printed its own errors, and the help.
	if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitCodes.usage;
	if (error instanceof PalimpsestError) {
		say(`[${error.code}] ${spelledFor("command", error)}`);
		return exitCodes.refusedInput;
	}
	// Whoever fixes a defect needs the whole stack.
	const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
	complain(`palimpsest: [internal] ${stack}`);
	return exitCodes.defect;
}

/** Commander's own `help` answers an unknown name with the help of the command above it and no error. */
export function addHelpCommands(program: Command): void {
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

/** After an error of usage, a line says where the help is. */
export function addHelpHints(command: Command): void {
	command.showHelpAfterError(helpHint(command));
	for (const inner of command.commands) addHelpHints(inner);
}

/** Names the nearest command. */
export function refuseCommand(above: Command, name: string): never {
	const names = above.commands.map((command) => command.name());
	const near = nearestName(name, names);
	return above.error(`error: unknown command '${name}'${near === null ? "" : `. Did you mean ${near}?`}`);
}

// ---- Options that several commands have ----

export const policyFile = "policy file; by default palimpsest.toml here, else in the configuration folder";

export function addCommand(parent: Command, signature: string, description: string): Command {
	return withPolicy(parent.command(signature).description(description));
}

export function addArchiving(parent: Command, signature: string, description: string): Command {
	return withArchive(addCommand(parent, signature, description));
}

export function withPolicy(command: Command): Command {
	return command
		.option("--policy <file>", policyFile)
		.option("--set <key=value>", "set one policy field; repeatable", repeatable);
}

export function withArchive(command: Command): Command {
	return command
		.option("--archive <where>", "where originals are kept: files (the default), none, redis://…, or a folder")
		.option("--namespace <name>", "namespace of the originals (default: default)");
}

export function repeatable(value: string, all: readonly string[] = []): readonly string[] {
	return [...all, value];
}

export const wholeNumber = numberFrom(0);
export const aboveZero = numberFrom(1);
export const portNumber = numberFrom(0, 65_535);

function numberFrom(least: number, most = Number.MAX_SAFE_INTEGER): (text: string) => number {
	const range = most === Number.MAX_SAFE_INTEGER ? `${least} or more` : `${least} to ${most}`;
	return (text) => {
		const value = Number(text);
		if (text.trim() !== "" && Number.isSafeInteger(value) && value >= least && value <= most) return value;
		throw new InvalidArgumentError(`Expected a whole number, ${range}.`);
	};
}

export function shareOfAll(text: string): number {
	const value = Number(text);
	if (text.trim() !== "" && value >= 0 && value <= 1) return value;
	throw new InvalidArgumentError("Expected a share from 0 to 1.");
}

export function shareAboveZero(text: string): number {
	const share = shareOfAll(text);
	if (share > 0) return share;
	throw new InvalidArgumentError("Expected a share above 0, up to 1.");
}

export function seconds(text: string): number {
	const value = Number(text);
	// A timer for longer than this many seconds fires at once.
	if (text.trim() !== "" && value >= 0 && value <= 2_000_000) return value;
	throw new InvalidArgumentError("Expected a number of seconds, 0 or more, up to 2000000.");
}

export const authTokens = [
	"--auth-tokens <file>",
	"file of the accepted tokens: lines of NAME:TOKEN or NAME:sha256:HEX",
] as const;
