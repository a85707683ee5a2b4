import { constants, isUtf8 } from "node:buffer";
import { PalimpsestError } from "../errors.ts";
import { releaseBytes } from "./releasable-bytes.ts";

/**
 * Decodes UTF-8, keeping a byte order mark. The bytes of a file that was read are given up: their memory is released.
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
	if (!isUtf8(bytes)) throw new PalimpsestError("invalid_json", `Expected UTF-8 text; ${name} holds other bytes.`);
	// A `TextDecoder` makes two bytes of each character, plain or not.
	const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
	releaseBytes(bytes);
	return text;
}
