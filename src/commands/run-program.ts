import { type Command, CommanderError } from "commander";
import { PalimpsestError, spelledFor } from "../errors.ts";
import { complain, say } from "./input-output.ts";
import { exitCodes } from "./usage.ts";

/** Runs the command line and sets the exit code. */
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
