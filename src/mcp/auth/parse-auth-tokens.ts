import { PalimpsestError } from "../../errors.ts";
import { sha256OfToken } from "./sha256-of-token.ts";

/** One line of a list of tokens. */
export interface AuthToken {
	/** The principal. Several tokens may have one. */
	readonly name: string;
	/** SHA-256 of the token, 32 bytes. The token itself is not kept. */
	readonly digest: Buffer;
}

const entryPattern = /^(?<name>[A-Za-z0-9][A-Za-z0-9._@-]{0,63}):(?:sha256:(?<hash>[0-9a-fA-F]{64})|(?<token>[^:]+))$/;
/** As RFC 6750 (2.1) spells a bearer token; 32 characters carry 128 bits even in hexadecimal. */
const tokenPattern = /^[A-Za-z0-9._~+/-]{32,512}=*$/;

/**
 * Reads a list of tokens: `NAME:TOKEN` or `NAME:sha256:HEX`, one a line. Empty lines and lines that begin with # are
 * passed over; where lines are awkward, as in an environment variable, blanks and commas part entries too.
 *
 * @throws PalimpsestError `invalid_argument` that names the entry by its number and never quotes it.
 */
export function parseAuthTokens(text: string, source: string): AuthToken[] {
	const entries = text
		.split(/\r?\n/)
		.filter((line) => !line.trimStart().startsWith("#"))
		.flatMap((line) => line.split(/[\s,]+/))
		.filter((entry) => entry !== "");
	const owners = new Map<string, string>();
	return entries.map((entry, index) => {
		const token = parseEntry(entry);
		if (typeof token === "string") throw refused(source, index, token);
		const key = token.digest.toString("hex");
		const owner = owners.get(key);
		if (owner !== undefined && owner !== token.name) throw refused(source, index, "a token that no other name has");
		owners.set(key, token.name);
		return token;
	});
}

/** The token, or what was expected instead. */
function parseEntry(entry: string): AuthToken | string {
	const { name, hash, token } = entryPattern.exec(entry)?.groups ?? {};
	if (name === undefined) {
		return "NAME:TOKEN or NAME:sha256:HEX, with a name of 1 to 64 letters, digits and . _ @ - that begins with a letter or digit";
	}
	if (hash !== undefined) return { name, digest: Buffer.from(hash, "hex") };
	if (token !== undefined && tokenPattern.test(token)) return { name, digest: sha256OfToken(token) };
	return "a token of 32 to 512 characters of A-Z a-z 0-9 . _ ~ + / - (openssl rand -hex 32 makes one)";
}

function refused(source: string, index: number, expected: string): PalimpsestError {
	return new PalimpsestError("invalid_argument", `Expected entry ${index + 1} of ${source} to be ${expected}.`);
}
