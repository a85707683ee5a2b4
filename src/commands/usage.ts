import { constants } from "node:os";
import { CommanderError } from "commander";
import { nearestName, quote } from "../policy/errors.ts";
import { localeNames } from "../policy/names.ts";
import { complain } from "./input-output.ts";

/** The signals that end a server: an operator's, a terminal's, and that of a terminal which went away. */
const signals = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

/**
 * Ends the process when a signal comes: with code 0 once `end` is done, whatever came of it; at a second signal at once,
 * with 128 and the signal's number, as if it had not been caught.
 */
export function endBySignal(end: (signal: string) => Promise<void>): void {
	let isEnding = false;
	for (const signal of signals) {
		process.on(signal, () => {
			if (isEnding) process.exit(128 + constants.signals[signal]);
			isEnding = true;
			void end(signal).finally(() => process.exit(0));
		});
	}
}

/** Refuses a name on the command line that is none of the known ones; `what` says of what, such as "host". */
export function refuseUnknown(what: string, name: string, known: readonly string[]): never {
	const near = nearestName(name, known);
	const hint = near === null ? "" : ` Did you mean ${near}?`;
	return refuseUsage(`unknown ${what} ${quote(name)}.${hint} Known: ${known.join(", ")}`);
}

/** A `--locale` that is one, or none at all. */
export function checkLocale(locale: string | undefined): string | undefined {
	const isKnown = locale === undefined || localeNames.some((known) => known === locale);
	return isKnown ? locale : refuseUnknown("--locale", locale, localeNames);
}

/** Refuses a wrong use of the command line as commander does those that it knows of: in words, and with exit code 2. */
export function refuseUsage(message: string): never {
	complain(`error: ${message}\n(palimpsest --help shows what there is)`);
	throw new CommanderError(exitCodes.usage, "palimpsest.usage", message);
}

/** Exit codes of the command; 0 is done. */
export const exitCodes = {
	refusedInput: 1,
	usage: 2,
	/** `guard` printed the smallest view, and that is still over the budget. */
	doesNotFit: 3,
	defect: 70,
} as const;
