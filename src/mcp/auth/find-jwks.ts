import { z } from "zod";
import { PalimpsestError } from "../../errors.ts";
import { isLoopback } from "../transports/http/is-loopback.ts";

const metadataShape = z.looseObject({ issuer: z.string(), jwks_uri: z.string() });

/**
 * Asks an issuer where its keys are: OAuth's metadata (RFC 8414), else OpenID Connect's.
 *
 * @throws PalimpsestError `invalid_argument` where neither is there, or names another issuer.
 */
export async function findJwks(issuer: string): Promise<URL> {
	const base = secureUrl(issuer, "issuer");
	const path = base.pathname.replace(/\/$/, "");
	const places = [
		new URL(`/.well-known/oauth-authorization-server${path}`, base),
		new URL(`${path}/.well-known/openid-configuration`, base),
	];
	for (const place of places) {
		const metadata = metadataShape.safeParse(await readJson(place));
		if (!metadata.success) continue;
		// The one defence against a document that was put there for another issuer (RFC 8414, 3.3).
		if (metadata.data.issuer === issuer) return secureUrl(metadata.data.jwks_uri, "jwks_uri of the issuer");
	}
	const tried = places.map(String).join(" or ");
	const message = `Expected the metadata of ${issuer}, with exactly this issuer and a jwks_uri, at ${tried}. Name the keys' address with --auth-jwks instead.`;
	throw new PalimpsestError("invalid_argument", message);
}

/**
 * A URL from which keys may be taken: https, or http on this machine.
 *
 * @throws PalimpsestError `invalid_argument`.
 */
export function secureUrl(text: string, what: string): URL {
	if (URL.canParse(text)) {
		const url = new URL(text);
		if (url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url.hostname))) return url;
	}
	throw new PalimpsestError(
		"invalid_argument",
		`Expected the ${what} to be an https URL, got ${JSON.stringify(text)}.`,
	);
}

async function readJson(url: URL): Promise<unknown> {
	try {
		const response = await fetch(url, { redirect: "error", signal: AbortSignal.timeout(5_000) });
		return response.ok ? await response.json() : undefined;
	} catch {
		return undefined;
	}
}
