import { type Command, CommanderError } from "commander";
import { PalimpsestError, spelledFor } from "../errors.ts";
import { nearestName, quote } from "../policy/errors.ts";
import { localeNames } from "../policy/names.ts";
import { complain, say } from "./input-output.ts";

export const exitCodes = {
	refusedInput: 1,
	usage: 2,
	/** `guard` printed the smallest view, which is still over the budget. */
	doesNotFit: 3,
	defect: 70,
} as const;

/** Refuses wrong use of the command line as commander does. */
export function refuseUsage(message: string): never {
	complain(`error: ${message}\n(palimpsest --help shows what there is)`);
	throw new CommanderError(exitCodes.usage, "palimpsest.usage", message);
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

/** Runs the command line and sets the exit code. */
/** Names with commas between them. */
export function listOfNames(text = ""): readonly string[] {
	return text.split(",").flatMap((name) => name.trim() || []);
}

export async function runProgram(program: Command, argv: readonly string[]): Promise<void> {
	process.stdout.on("error", ({ code, message }: NodeJS.ErrnoException) => {
		// A reader that closes the pipe (`palimpsest … | head`) is no error.
		if (code === "EPIPE") process.exit();
		say(`standard output cannot be written: ${code ?? message}`);
		process.exit(exitCodes.refusedInput);
	});
	// A closed standard error loses words for people; the answer still counts, and a server goes on.
	process.stderr.on("error", () => {});
	try {
		await program.parseAsync(argv);
	} catch (error) {
		process.exitCode = exitCodeOf(error);
	}
}

function exitCodeOf(error: unknown): number {
	// Commander has printed the error or the help.
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
