import { PalimpsestError } from "../errors.ts";

/** What a base URL has to be. */
export const expectedBaseUrl =
	"Expected the base URL of a chat-completions endpoint, such as https://api.openai.com/v1, without user and password. Give the key apart.";

/** Whether a text is an http or https URL without user and password. */
export function isBaseUrl(text: string): boolean {
	const url = URL.canParse(text) ? new URL(text) : undefined;
	return url !== undefined && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "";
}

/** @throws PalimpsestError `invalid_argument` for a base URL that is none, which it does not quote: it may hold a key. */
export function parseBaseUrl(baseUrl: string): URL {
	if (!isBaseUrl(baseUrl)) throw new PalimpsestError("invalid_argument", expectedBaseUrl);
	return new URL(baseUrl);
}
