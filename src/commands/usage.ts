import { CommanderError } from "commander";
import { nearestName, quote } from "../policy/errors.ts";
import { localeNames } from "../policy/names.ts";
import { complain } from "./input-output.ts";

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
