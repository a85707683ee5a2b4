import { isAscii } from "node:buffer";
import { PalimpsestError } from "../../errors.ts";

const held = new WeakMap<object, Uint8Array>();

/** The only member of arguments that are held; a client's own member of that name holds nothing. */
const member = "held";

/** Arguments that nobody has read yet. They go through the SDK, which copies them, and come out the same. */
export function holdArguments(bytes: Uint8Array): Record<string, unknown> {
	const handle = {};
	held.set(handle, bytes);
	return { [member]: handle };
}

/** The bytes of arguments that are held; `undefined` for those that were read already. */
export function heldArguments(given: Readonly<Record<string, unknown>> | undefined): Uint8Array | undefined {
	const handle = given?.[member];
	return typeof handle === "object" && handle !== null ? held.get(handle) : undefined;
}

/**
 * Reads arguments that were held.
 *
 * @throws PalimpsestError `invalid_json`.
 */
export function readArguments(bytes: Uint8Array): unknown {
	try {
		return JSON.parse(textOf(bytes));
	} catch {
		throw new PalimpsestError("invalid_json", "Expected the arguments to be JSON in UTF-8.");
	}
}

function textOf(bytes: Uint8Array): string {
	// What has but one byte a character is copied, and not decoded.
	if (isAscii(bytes)) return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
	// Fatal, since a byte replaced by U+FFFD would change the conversation unseen.
	return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
}
