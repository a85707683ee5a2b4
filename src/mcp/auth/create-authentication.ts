import { InvalidTokenError } from "@modelcontextprotocol/sdk/server/auth/errors.js";
import type { OAuthTokenVerifier } from "@modelcontextprotocol/sdk/server/auth/provider.js";
import { PalimpsestError } from "../../errors.ts";
import type { Log } from "../../pipeline/log-event.ts";
import { authInfoOf, callerOfToken } from "./caller.ts";
import { createTokenList, type TokenList } from "./create-token-list.ts";
import { findJwks, secureUrl } from "./find-jwks.ts";
import { findToken } from "./find-token.ts";

/** Who is let in. */
export interface AuthenticationOptions {
	/** A file of tokens, as `parseAuthTokens` reads it. */
	readonly tokensFile?: string | undefined;
	/** Tokens in the same form, from the environment. */
	readonly tokensVariable?: string | undefined;
	/** Takes JSON Web Tokens of this issuer. */
	readonly issuer?: string | undefined;
	/** For whom they must be. */
	readonly audiences?: readonly string[] | undefined;
	/** Where the issuer's keys are; without it the issuer's metadata says so. */
	readonly jwks?: string | undefined;
	/** What they must allow. */
	readonly scopes?: readonly string[] | undefined;
	readonly log: Log;
}

/** What tells callers apart. */
export interface Authentication {
	readonly verifier: OAuthTokenVerifier;
	/** The issuer that clients are sent to; `undefined` where only tokens of our own list are taken. */
	readonly issuer: string | undefined;
	readonly scopes: readonly string[];
	/** Our own list, from which tokens can be taken back. */
	readonly tokens: TokenList | undefined;
	close(): void;
}

/**
 * Makes the authentication that options ask for; `undefined` where they ask for none.
 *
 * @throws PalimpsestError `invalid_argument` or `unreadable_file` for options that cannot be used.
 */
export async function createAuthentication(options: AuthenticationOptions): Promise<Authentication | undefined> {
	const { tokensFile: file, tokensVariable: variable, issuer, audiences = [], jwks, scopes = [], log } = options;
	if (issuer === undefined && (audiences.length > 0 || jwks !== undefined || scopes.length > 0)) {
		throw new PalimpsestError(
			"invalid_argument",
			"Expected --auth-issuer beside the other options for JSON Web Tokens.",
		);
	}
	if (issuer !== undefined && audiences.length === 0) {
		const why = "since tokens that the issuer made for other services would be taken otherwise";
		throw new PalimpsestError("invalid_argument", `Expected --auth-audience beside --auth-issuer, ${why}.`);
	}
	const tokens = file !== undefined || variable ? createTokenList({ file, variable, log }) : undefined;
	const jwtVerifier = issuer === undefined ? undefined : await jwtVerifierOf({ issuer, audiences, jwks });
	if (!tokens && !jwtVerifier) return undefined;

	const verifyAccessToken: OAuthTokenVerifier["verifyAccessToken"] = async (token) => {
		const found = tokens && findToken(tokens.current(), token);
		if (found) {
			// The operator's own tokens allow everything and end when they are taken off the list.
			return authInfoOf(callerOfToken(found), { scopes: [...scopes], expiresAt: Number.POSITIVE_INFINITY });
		}
		if (!jwtVerifier) throw new InvalidTokenError("The token is not valid");
		return jwtVerifier.verifyAccessToken(token);
	};
	return { verifier: { verifyAccessToken }, issuer, scopes, tokens, close: () => tokens?.close() };
}

async function jwtVerifierOf(what: { issuer: string; audiences: readonly string[]; jwks: string | undefined }) {
	const { issuer, audiences, jwks } = what;
	secureUrl(issuer, "issuer");
	const jwksUrl = jwks === undefined ? await findJwks(issuer) : secureUrl(jwks, "address of the issuer's keys");
	// Loaded on demand: most servers have tokens of their own.
	const { createJwtVerifier } = await import("./create-jwt-verifier.ts");
	return createJwtVerifier({ issuer, audiences, jwksUrl });
}
