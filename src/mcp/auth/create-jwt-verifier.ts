import { InvalidTokenError } from "@modelcontextprotocol/sdk/server/auth/errors.js";
import type { OAuthTokenVerifier } from "@modelcontextprotocol/sdk/server/auth/provider.js";
import { createRemoteJWKSet, errors, type JWTPayload, jwtVerify } from "jose";
import { PalimpsestError } from "../../errors.ts";
import { authInfoOf } from "./caller.ts";

/** Whose JSON Web Tokens are taken. */
export interface JwtOptions {
	/** The `iss` that a token must have, to the letter. */
	readonly issuer: string;
	/** A token must name one of them in `aud`. */
	readonly audiences: readonly string[];
	/** Where the issuer's public keys are. */
	readonly jwksUrl: URL;
}

/** Signatures with the issuer's private key only: `none` is none, and with HS… whoever can check could also sign. */
const algorithms = "RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519".split(" ");
/** Seconds that the clocks of issuer and server may differ. */
const clockTolerance = 5;

/**
 * Makes what checks a JSON Web Token: signature, issuer, audience, expiry, `nbf`; the principal is the subject. The
 * issuer's keys are asked for when the first token comes, and anew when a key is not known, at most every 30 s.
 *
 * The check throws InvalidTokenError for a token that is none of these, and PalimpsestError `auth_error` where the keys
 * cannot be had.
 */
export function createJwtVerifier({ issuer, audiences, jwksUrl }: JwtOptions): OAuthTokenVerifier {
	const keys = createRemoteJWKSet(jwksUrl, { timeoutDuration: 5_000 });
	const options = { issuer, audience: [...audiences], algorithms, clockTolerance, requiredClaims: ["sub", "exp"] };
	return {
		async verifyAccessToken(token) {
			const { payload } = await jwtVerify(token, keys, options).catch((error: unknown) => {
				throw refusalOf(error);
			});
			const { sub, exp } = payload;
			if (typeof sub !== "string" || sub === "" || exp === undefined)
				throw new InvalidTokenError("The token has no subject");
			const caller = { principal: `jwt ${issuer} ${sub}`, credential: undefined };
			return authInfoOf(caller, { scopes: scopesOf(payload), expiresAt: exp + clockTolerance });
		},
	};
}

/** `scope` is one string of words (RFC 8693, 4.2), or `scp` with some issuers, as a string or a list. */
function scopesOf({ scope, scp }: JWTPayload): string[] {
	const claim = scope ?? scp ?? [];
	const words = Array.isArray(claim) ? claim : String(claim).split(" ");
	return words.filter((word) => typeof word === "string" && word !== "");
}

/** Fixed words: an error of the library may quote the token's claims, and these words go into a header. */
function refusalOf(error: unknown): Error {
	if (error instanceof errors.JWTExpired) return new InvalidTokenError("The token has expired");
	if (error instanceof errors.JWTClaimValidationFailed) {
		return new InvalidTokenError("The token is not from the issuer, or not for the audience, that is expected here");
	}
	const isOurTrouble =
		error instanceof errors.JWKSTimeout ||
		error instanceof errors.JWKSInvalid ||
		!(error instanceof errors.JOSEError) ||
		// What the library says of an answer that is no 200 or no JSON.
		error.code === "ERR_JOSE_GENERIC";
	if (!isOurTrouble) return new InvalidTokenError("The token is not valid");
	return new PalimpsestError("auth_error", "The issuer's keys cannot be had now.", { cause: error });
}
