import { PalimpsestError } from "../errors.ts";
import { isKind } from "./about-json.ts";
import type { Original } from "./archive.ts";

/**
 * Refuses what is no list of originals: kept, it could not be read again.
 *
 * @throws PalimpsestError `invalid_argument`.
 */
export function checkOriginals(originals: readonly Original[]): void {
	const isName = (value: unknown) => value === undefined || typeof value === "string";
	const isOriginal = (value: unknown) => {
		const { text, kind, toolCallId, toolName } = (value ?? {}) as Partial<Original>;
		return typeof text === "string" && isKind(kind) && isName(toolCallId) && isName(toolName);
	};
	if (Array.isArray(originals) && originals.every(isOriginal)) return;
	const expected = "Expected a list of originals, each with a string `text` and a known `kind`";
	throw new PalimpsestError(
		"invalid_argument",
		`${expected}, and \`toolCallId\` and \`toolName\` strings or left out.`,
	);
}
