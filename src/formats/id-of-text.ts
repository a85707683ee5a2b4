import { sha256Of } from "../json-text/value.ts";

/** An id in the shape of a UUID (version 8, RFC 9562) that is the same for the same text: writing uses no chance. */
export function idOfText(text: string): string {
	const hash = sha256Of(text);
	return [
		hash.slice(0, 8),
		hash.slice(8, 12),
		`8${hash.slice(13, 16)}`,
		`8${hash.slice(17, 20)}`,
		hash.slice(20, 32),
	].join("-");
}
