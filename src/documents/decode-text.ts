import { PalimpsestError } from "../errors.ts";

/**
 * Decodes UTF-8, keeping a byte order mark.
 *
 * @throws PalimpsestError `invalid_json` where the bytes are no UTF-8: a byte replaced by U+FFFD would change the
 * conversation unseen.
 */
export function decodeText(bytes: Uint8Array, name: string): string {
	try {
		return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
	} catch {
		throw new PalimpsestError("invalid_json", `Expected UTF-8 text; ${name} holds other bytes.`);
	}
}
