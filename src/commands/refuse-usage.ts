import { CommanderError } from "commander";
import { exitCodes } from "./exit-codes.ts";
import { complain } from "./shell.ts";

/** Refuses a wrong use of the command line as commander does those that it knows of: in words, and with exit code 2. */
export function refuseUsage(message: string): never {
	complain(`error: ${message}\n(palimpsest --help shows what there is)`);
	throw new CommanderError(exitCodes.usage, "palimpsest.usage", message);
}
