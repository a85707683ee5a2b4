import { nearestName, quote } from "../policy/errors.ts";
import { localeNames } from "../policy/names.ts";
import { refuseUsage } from "./refuse-usage.ts";

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
