import { type Command, CommanderError } from "commander";
import { PalimpsestError, spelledFor } from "../errors.ts";
import { exitCodes } from "./exit-codes.ts";
import { complain, say } from "./shell.ts";

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
