import { constants } from "node:buffer";
import { PalimpsestError } from "../errors.ts";

/**
 * Decodes UTF-8, keeping a byte order mark.
 *
 * @throws PalimpsestError `invalid_json` where the bytes are no UTF-8: a byte replaced by U+FFFD would change the
 * conversation unseen; `payload_too_large` where they make more text than a string can hold.
 */
export function decodeText(bytes: Uint8Array, name: string): string {
	// Characters are never more than bytes, and as many for plain text.
	if (bytes.length > constants.MAX_STRING_LENGTH) {
		throw new PalimpsestError(
			"payload_too_large",
			`${name} has ${bytes.length} bytes; ${constants.MAX_STRING_LENGTH} are the most that can be edited.`,
		);
	}
	try {
		return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
	} catch {
		throw new PalimpsestError("invalid_json", `Expected UTF-8 text; ${name} holds other bytes.`);
	}
}
