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
		// Fatal, since a byte replaced by U+FFFD would change the conversation unseen.
		return JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
	} catch {
		throw new PalimpsestError("invalid_json", "Expected the arguments to be JSON in UTF-8.");
	}
}
