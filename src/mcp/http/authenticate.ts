import { InvalidTokenError } from "@modelcontextprotocol/sdk/server/auth/errors.js";
import { metadataHandler } from "@modelcontextprotocol/sdk/server/auth/handlers/metadata.js";
import { requireBearerAuth } from "@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js";
import type { OAuthTokenVerifier } from "@modelcontextprotocol/sdk/server/auth/provider.js";
import type { AuthInfo } from "@modelcontextprotocol/sdk/server/auth/types.js";
import { type Request, type RequestHandler, type Response, Router } from "express";
import type { errors as JoseErrors, JWTPayload } from "jose";
import { z } from "zod";
import { PalimpsestError } from "../../errors.ts";
import type { Log } from "../../log.ts";
import { isLoopback } from "../../operations/http/address.ts";
import { type AuthToken, createTokenList, findToken, principalOfToken } from "../../operations/http/auth-tokens.ts";
import { refuse } from "./application.ts";
import { limitRequests, longestTimer } from "./limits.ts";

interface AuthenticationOptions {
	readonly tokensFile?: string | undefined;
	readonly tokensVariable?: string | undefined;
	readonly issuer?: string | undefined;
	readonly audiences?: readonly string[] | undefined;
	readonly jwks?: string | undefined;
	readonly scopes?: readonly string[] | undefined;
	readonly log: Log;
	/** From one look at the file of tokens to the next. */
	readonly intervalMilliseconds?: number | undefined;
}

export type Authentication = NonNullable<Awaited<ReturnType<typeof createAuthentication>>>;

/** `undefined` if the options request none. Throws `invalid_argument` or `unreadable_file`. */
export async function createAuthentication(options: AuthenticationOptions) {
	const {
		tokensFile: file,
		tokensVariable: variable,
		issuer,
		audiences = [],
		jwks,
		scopes = [],
		log,
		intervalMilliseconds,
	} = options;
	const refuseIf = (isWrong: boolean, expected: string): void => {
		if (isWrong) throw new PalimpsestError("invalid_argument", `Expected ${expected}.`);
	};
	const hasOthers = audiences.length > 0 || jwks !== undefined || scopes.length > 0;
	refuseIf(issuer === undefined && hasOthers, "--auth-issuer with the other options for JSON Web Tokens");
	const why = "since tokens that the issuer made for other services would be accepted otherwise";
	refuseIf(issuer !== undefined && audiences.length === 0, `--auth-audience with --auth-issuer, ${why}`);
	const tokens =
		file !== undefined || variable ? createTokenList({ file, variable, log, intervalMilliseconds }) : undefined;
	const jwtVerifier = issuer === undefined ? undefined : await createJwtVerifier({ issuer, audiences, jwks });
	if (!tokens && !jwtVerifier) return undefined;

	const verifyAccessToken: OAuthTokenVerifier["verifyAccessToken"] = async (token) => {
		const found = tokens && findToken(tokens.current(), token);
		if (found) {
			// The operator's own tokens have every scope and end when they are removed from the list.
			return callerAuthInfo(tokenCaller(found), { scopes: [...scopes], expiresAt: Number.POSITIVE_INFINITY });
		}
		if (!jwtVerifier) throw new InvalidTokenError("The token is not valid");
		return jwtVerifier.verifyAccessToken(token);
	};
	return { verifyAccessToken, issuer, scopes, tokens, close: () => tokens?.close() };
}

/** Before a body is read. Refused requests count by address, so that guessing tokens does not use up the quota of a user. */
export function authenticate(options: {
	readonly authentication: Authentication;
	readonly perMinute: number;
	readonly baseUrl: () => string;
	readonly log: Log;
}): RequestHandler[] {
	const { authentication, perMinute, baseUrl, log } = options;
	const { verifyAccessToken, scopes, issuer } = authentication;
	const outcomes = new WeakMap<Request, AuthInfo | InvalidTokenError>();
	const outcomeOf = (request: Request) => outcomes.get(request) ?? new InvalidTokenError("Expected: Bearer TOKEN");

	const verify: RequestHandler = async (request, response, next) => {
		const token = /^bearer +(\S+)$/i.exec(request.headers.authorization ?? "")?.[1];
		try {
			if (token !== undefined) outcomes.set(request, await verifyAccessToken(token));
		} catch (error) {
			if (!(error instanceof InvalidTokenError)) {
				const data = { event: "auth_failed", error: error instanceof Error ? error.name : typeof error };
				log({ level: "error", message: "A token could not be checked", data });
				const message = "Tokens cannot be checked now. Try again later.";
				return refuse(response, { status: 503, message, headers: { "Retry-After": "10" } });
			}
			outcomes.set(request, error);
		}
		next();
	};
	const principalOf = (request: Request): string | undefined => {
		const outcome = outcomeOf(request);
		return outcome instanceof Error ? undefined : outcome.clientId;
	};
	const admit: RequestHandler = (request, response, next) => {
		const resource = /^\/(?:sse|messages)\/?$/i.test(request.path) ? "/sse" : "/mcp";
		const known = async (): Promise<AuthInfo> => {
			const outcome = outcomeOf(request);
			if (outcome instanceof Error) throw outcome;
			return outcome;
		};
		const check = requireBearerAuth({
			verifier: { verifyAccessToken: known },
			requiredScopes: [...scopes],
			// Only an issuer has metadata that clients can use.
			...(issuer !== undefined && { resourceMetadataUrl: `${baseUrl()}${wellKnown}${resource}` }),
		});
		return check(request, response, next);
	};
	return [verify, limitRequests({ perMinute, principalOf }), admit, endStreamsInTime];
}

const endStreamsInTime: RequestHandler = (request, response, next) => {
	if (request.method === "GET") endWithToken(request, response);
	next();
};

/** Ends a stream when its token expires. A call that began in time is still answered. */
export function endWithToken({ auth }: Request, response: Response): void {
	const left = (auth?.expiresAt ?? Number.POSITIVE_INFINITY) * 1_000 - Date.now();
	if (left >= longestTimer) return;
	const timer = setTimeout(() => response.end(), left).unref();
	response.once("close", () => clearTimeout(timer));
}

const wellKnown = "/.well-known/oauth-protected-resource";

/** The protected-resource metadata (RFC 9728) of each transport, with which MCP clients find the issuer. */
export function metadataRoutes(authentication: Authentication | undefined, baseUrl: () => string): Router {
	const router = Router();
	const { issuer, scopes = [] } = authentication ?? {};
	for (const resource of issuer === undefined ? [] : ["/mcp", "/sse"]) {
		router.use(`${wellKnown}${resource}`, (request, response, next) => {
			const metadata = {
				resource: `${baseUrl()}${resource}`,
				authorization_servers: issuer === undefined ? [] : [issuer],
				bearer_methods_supported: ["header"],
				resource_name: "Palimpsest",
				...(scopes.length > 0 && { scopes_supported: [...scopes] }),
			};
			return metadataHandler(metadata)(request, response, next);
		});
	}
	router.use("/.well-known", (_request, response) => refuse(response, { status: 404, message: "Not found." }));
	return router;
}

// ---- Callers ----

export interface Caller {
	/** Names exactly one principal: `token NAME`, or `jwt ISSUER SUBJECT`. */
	readonly principal: string;
	/** SHA-256 of the token, in hex, if the token is in our own list: the operator can remove it there. */
	readonly credential: string | undefined;
}

export function tokenCaller({ name, digest }: AuthToken): Caller {
	return { principal: principalOfToken({ name }), credential: digest.toString("hex") };
}

/** The caller as the SDK carries it, without the token, so that nothing after the check can reveal it. */
function callerAuthInfo(caller: Caller, valid: Pick<AuthInfo, "scopes" | "expiresAt">): AuthInfo {
	return { ...valid, token: "", clientId: caller.principal, extra: { credential: caller.credential } };
}

export function requestCaller({ auth }: { readonly auth?: AuthInfo | undefined }): Caller | undefined {
	if (auth === undefined) return undefined;
	return { principal: auth.clientId, credential: auth.extra?.credential as string | undefined };
}

// ---- JSON Web Tokens ----

/** Only signatures with the issuer's private key: whoever can check an HS… signature could also make one. */
const algorithms = "RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519".split(" ");
/** Seconds that the clocks of issuer and server may differ. */
const clockTolerance = 5;

/** The check throws InvalidTokenError for a bad token, and `auth_error` without keys. Throws `invalid_argument`. */
async function createJwtVerifier(given: {
	readonly issuer: string;
	readonly audiences: readonly string[];
	readonly jwks: string | undefined;
}): Promise<OAuthTokenVerifier> {
	const { issuer, audiences, jwks } = given;
	// Loaded on demand: most servers have tokens of their own.
	const { createRemoteJWKSet, errors, jwtVerify } = await import("jose");
	const base = secureUrl(issuer, "issuer");
	const jwksUrl = jwks === undefined ? await findJwks(issuer, base) : secureUrl(jwks, "address of the issuer's keys");
	const keys = createRemoteJWKSet(jwksUrl, { timeoutDuration: 5_000 });
	const options = { issuer, audience: [...audiences], algorithms, clockTolerance, requiredClaims: ["sub", "exp"] };
	const verify = async (token: string) => {
		try {
			return await jwtVerify(token, keys, options);
		} catch (error) {
			if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
			// The token names no key, or keys share its name: any of them may have signed it (RFC 7517, 4.5).
			let failure: unknown = error;
			for await (const key of error) {
				try {
					return await jwtVerify(token, key, options);
				} catch (reason) {
					if (!(reason instanceof errors.JWSSignatureVerificationFailed)) throw reason;
					failure = reason;
				}
			}
			throw failure;
		}
	};
	return {
		async verifyAccessToken(token) {
			const { payload } = await verify(token).catch((error: unknown) => {
				throw refusalOf(error, errors);
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
function refusalOf(error: unknown, errors: typeof JoseErrors): Error {
	if (error instanceof errors.JWTExpired) return new InvalidTokenError("The token has expired");
	if (error instanceof errors.JWTClaimValidationFailed) {
		return new InvalidTokenError("The token is not from the expected issuer, or not for the expected audience");
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
