import { InvalidTokenError } from "@modelcontextprotocol/sdk/server/auth/errors.js";
import type { OAuthTokenVerifier } from "@modelcontextprotocol/sdk/server/auth/provider.js";
import { createRemoteJWKSet, errors, type JWTPayload, jwtVerify } from "jose";
import { z } from "zod";
import { PalimpsestError } from "../../errors.ts";
import { isLoopback } from "../../http/address.ts";
import { callerAuthInfo } from "./tokens.ts";

/** Only signatures with the issuer's private key: whoever can check an HS… signature could also make one. */
const algorithms = "RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519".split(" ");
/** Seconds that the clocks of issuer and server may differ. */
const clockTolerance = 5;

/** The check throws InvalidTokenError for a bad token, and `auth_error` without keys. Throws `invalid_argument`. */
export async function createJwtVerifier(given: {
	readonly issuer: string;
	readonly audiences: readonly string[];
	readonly jwks: string | undefined;
}): Promise<OAuthTokenVerifier> {
	const { issuer, audiences, jwks } = given;
	const base = secureUrl(issuer, "issuer");
	const jwksUrl = jwks === undefined ? await findJwks(issuer, base) : secureUrl(jwks, "address of the issuer's keys");
	const keys = createRemoteJWKSet(jwksUrl, { timeoutDuration: 5_000 });
	const options = { issuer, audience: [...audiences], algorithms, clockTolerance, requiredClaims: ["sub", "exp"] };
	return {
		async verifyAccessToken(token) {
			const { payload } = await jwtVerify(token, keys, options).catch((error: unknown) => {
				throw refusalOf(error);
			});
			const { sub, exp } = payload;
			if (typeof sub !== "string" || sub === "" || exp === undefined) {
				throw new InvalidTokenError("The token has no subject");
			}
			const caller = { principal: `jwt ${issuer} ${sub}`, credential: undefined };
			return callerAuthInfo(caller, { scopes: scopesOf(payload), expiresAt: exp + clockTolerance });
		},
	};
}

/** `scope` is one string (RFC 8693, 4.2); some issuers use `scp`, a string or a list. */
function scopesOf({ scope, scp }: JWTPayload): string[] {
	const claim = scope ?? scp ?? [];
	const words = Array.isArray(claim) ? claim : String(claim).split(" ");
	return words.filter((word) => typeof word === "string" && word !== "");
}

/** Fixed words: an error of the library may quote claims, and these words go into a header. */
function refusalOf(error: unknown): Error {
	if (error instanceof errors.JWTExpired) return new InvalidTokenError("The token has expired");
	if (error instanceof errors.JWTClaimValidationFailed) {
		return new InvalidTokenError("The token is not from the issuer, or not for the audience, that is expected here");
	}
	// Without the keys; the generic code is that of an answer that is not 200 or not JSON.
	const ours = ["ERR_JOSE_GENERIC", "ERR_JWKS_TIMEOUT", "ERR_JWKS_INVALID"];
	if (error instanceof errors.JOSEError && !ours.includes(error.code)) {
		return new InvalidTokenError("The token is not valid");
	}
	return new PalimpsestError("auth_error", "Could not fetch the issuer's keys.", { cause: error });
}

const metadataShape = z.looseObject({ issuer: z.string(), jwks_uri: z.string() });

/** OAuth's metadata (RFC 8414), else OpenID Connect's. */
async function findJwks(issuer: string, base: URL): Promise<URL> {
	const path = base.pathname.replace(/\/$/, "");
	const paths = [`/.well-known/oauth-authorization-server${path}`, `${path}/.well-known/openid-configuration`];
	const places = paths.map((one) => new URL(one, base));
	for (const place of places) {
		const answer = fetch(place, { redirect: "error", signal: AbortSignal.timeout(5_000) });
		const document = await answer.then((one) => (one.ok ? one.json() : undefined)).catch(() => undefined);
		const metadata = metadataShape.safeParse(document);
		if (!metadata.success) continue;
		// The only defence against a document that was put there for another issuer (RFC 8414, 3.3).
		if (metadata.data.issuer === issuer) return secureUrl(metadata.data.jwks_uri, "jwks_uri of the issuer");
	}
	const tried = places.map(String).join(" or ");
	const message = `Expected the metadata of ${issuer}, with exactly this issuer and a jwks_uri, at ${tried}. Name the keys' address with --auth-jwks instead.`;
	throw new PalimpsestError("invalid_argument", message);
}

/** A URL for keys: https, or http on this machine. */
function secureUrl(text: string, what: string): URL {
	const url = URL.canParse(text) ? new URL(text) : undefined;
	if (url?.protocol === "https:" || (url?.protocol === "http:" && isLoopback(url.hostname))) return url;
	const message = `Expected the ${what} to be an https URL, got ${JSON.stringify(text)}.`;
	throw new PalimpsestError("invalid_argument", message);
}
