import { PalimpsestError } from "../../errors.ts";

/**
 * Reads the address under which clients reach a server, such as `https://palimpsest.example.org`: a scheme, a host and
 * perhaps a port. A path is refused, since the older transport tells its clients paths from the root.
 *
 * @throws PalimpsestError `invalid_argument`.
 */
export function parsePublicUrl(text: string): URL {
	if (URL.canParse(text)) {
		const url = new URL(text);
		const isWeb = url.protocol === "https:" || url.protocol === "http:";
		if (isWeb && url.href === `${url.origin}/`) return url;
	}
	throw new PalimpsestError(
		"invalid_argument",
		"Expected the public URL to be a scheme and a host, with no path, such as https://palimpsest.example.org.",
	);
}
