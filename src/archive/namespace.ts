import { PalimpsestError } from "../errors.ts";

const allowed = /^[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?$/;
/** Names that Windows gives to devices. */
const devices = /^(?:con|prn|aux|nul|com\d|lpt\d)$/;

/**
 * Checks the name of a namespace, which becomes the name of a folder and part of keys.
 *
 * @throws PalimpsestError `invalid_argument`.
 */
export function checkNamespace(name: string): string {
	if (allowed.test(name) && !devices.test(name)) return name;
	throw new PalimpsestError(
		"invalid_argument",
		"Expected the archive's namespace to be 1 to 64 of a-z, 0-9, - and _, with a letter or digit first and last.",
	);
}
