import { PalimpsestError } from "../errors.ts";

/** Refuses a number that is no whole number of tokens. */
export function requireTokens(name: string, value: number | undefined, least: number): void {
	if (value === undefined || (Number.isSafeInteger(value) && value >= least)) return;
	throw new PalimpsestError(
		"invalid_argument",
		`Expected \`${name}\` to be a whole number of tokens, ${least} or more; got ${value}.`,
	);
}
