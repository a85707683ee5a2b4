import { InvalidTokenError } from "@modelcontextprotocol/sdk/server/auth/errors.js";
import { metadataHandler } from "@modelcontextprotocol/sdk/server/auth/handlers/metadata.js";
import { requireBearerAuth } from "@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js";
import type { OAuthTokenVerifier } from "@modelcontextprotocol/sdk/server/auth/provider.js";
import type { AuthInfo } from "@modelcontextprotocol/sdk/server/auth/types.js";
import { type Request, type RequestHandler, type Response, Router } from "express";
import type { ArchiveLocation } from "../../archive/open.ts";
import { type ArchiveSource, createArchiveSource } from "../../config/archive.ts";
import { PalimpsestError } from "../../errors.ts";
import type { Log } from "../../operations/edit-record.ts";
import type { Policy } from "../../policy/schema.ts";
import { authInfoOf, callerOfToken, namespaceOfPrincipal } from "./caller.ts";
import { refuse } from "./guards.ts";
import { limitRequests } from "./limits.ts";
import { createTokenList, findToken, type TokenList } from "./tokens.ts";

/** The callers that are let in. */
export interface AuthenticationOptions {
	/** A file of tokens, as `parseAuthTokens` reads it. */
	readonly tokensFile?: string | undefined;
	/** Tokens in the same form, from the environment. */
	readonly tokensVariable?: string | undefined;
	/** Accepts JSON Web Tokens of this issuer. */
	readonly issuer?: string | undefined;
	/** The audiences for which they may be. */
	readonly audiences?: readonly string[] | undefined;
	/** The address of the issuer's keys; without it the issuer's metadata names it. */
	readonly jwks?: string | undefined;
	/** The scopes that they must have. */
	readonly scopes?: readonly string[] | undefined;
	readonly log: Log;
}

/** The check that tells callers apart. */
export interface Authentication {
	readonly verifier: OAuthTokenVerifier;
	/** The issuer that clients are sent to; `undefined` if only tokens of our own list are accepted. */
	readonly issuer: string | undefined;
	readonly scopes: readonly string[];
	/** Our own list, from which the operator can take tokens back. */
	readonly tokens: TokenList | undefined;
	close(): void;
}

/**
 * Makes the authentication for these options; `undefined` if they ask for none.
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
	let jwtVerifier: OAuthTokenVerifier | undefined;
	if (issuer !== undefined) {
		// Loaded on demand: most servers have tokens of their own.
		const { createJwtVerifier } = await import("./jwt.ts");
		jwtVerifier = await createJwtVerifier({ issuer, audiences, jwks });
	}
	if (!tokens && !jwtVerifier) return undefined;

	const verifyAccessToken: OAuthTokenVerifier["verifyAccessToken"] = async (token) => {
		const found = tokens && findToken(tokens.current(), token);
		if (found) {
			// The operator's own tokens have every scope and end when they are removed from the list.
			return authInfoOf(callerOfToken(found), { scopes: [...scopes], expiresAt: Number.POSITIVE_INFINITY });
		}
		if (!jwtVerifier) throw new InvalidTokenError("The token is not valid");
		return jwtVerifier.verifyAccessToken(token);
	};
	return { verifier: { verifyAccessToken }, issuer, scopes, tokens, close: () => tokens?.close() };
}

/** The parts of the check of tokens. */
export interface AuthenticateOptions {
	readonly authentication: Authentication;
	readonly requestsPerMinute: number;
	/** The address under which clients reach the server; known once it listens. */
	readonly baseUrl: () => string;
	readonly log: Log;
}

type Outcome = { readonly info: AuthInfo } | { readonly error: Error };

// A longer timer fires at once.
const longestTimer = 2 ** 31 - 1;

/**
 * Makes the handlers that let only known callers through and count their requests: theirs by principal, refused ones by
 * address, so that guessing tokens uses up nobody's quota. No byte of a body is read before.
 */
export function authenticate(options: AuthenticateOptions): RequestHandler[] {
	const { authentication, requestsPerMinute, baseUrl, log } = options;
	const { verifier, scopes } = authentication;
	const outcomes = new WeakMap<Request, Outcome>();

	const verify: RequestHandler = async (request, response, next) => {
		const token = /^bearer +(\S+)$/i.exec(request.headers.authorization ?? "")?.[1];
		if (token === undefined) return next();
		try {
			outcomes.set(request, { info: await verifier.verifyAccessToken(token) });
		} catch (error) {
			if (!(error instanceof InvalidTokenError)) return unavailable(error, response);
			outcomes.set(request, { error });
		}
		next();
	};
	const unavailable = (error: unknown, response: Response): void => {
		const name = error instanceof Error ? error.name : typeof error;
		log({ level: "error", message: "A token could not be checked", data: { event: "auth_failed", error: name } });
		const message = "Tokens cannot be checked now. Try again later.";
		refuse(response, { status: 503, message, headers: { "Retry-After": "10" } });
	};
	const principalOf = (request: Request): string | undefined => {
		const outcome = outcomes.get(request);
		return outcome && "info" in outcome ? outcome.info.clientId : undefined;
	};
	const admit: RequestHandler = (request, response, next) => {
		const resource = /^\/(?:sse|messages)\/?$/i.test(request.path) ? "/sse" : "/mcp";
		const check = requireBearerAuth({
			verifier: {
				async verifyAccessToken() {
					const outcome = outcomes.get(request) ?? { error: new InvalidTokenError("Expected: Bearer TOKEN") };
					if ("error" in outcome) throw outcome.error;
					return outcome.info;
				},
			},
			requiredScopes: [...scopes],
			// Only an issuer has metadata that clients can use.
			...(authentication.issuer !== undefined && { resourceMetadataUrl: `${baseUrl()}${wellKnown}${resource}` }),
		});
		return check(request, response, next);
	};
	return [verify, limitRequests({ perMinute: requestsPerMinute, principalOf }), admit, endStreamsInTime];
}

/** Ends the stream that a token opened when the token expires. A call that began in time is still answered. */
const endStreamsInTime: RequestHandler = (request, response, next) => {
	const left = (request.auth?.expiresAt ?? 0) * 1_000 - Date.now();
	if (request.method === "GET" && left < longestTimer) {
		const timer = setTimeout(() => response.end(), left);
		timer.unref();
		response.once("close", () => clearTimeout(timer));
	}
	next();
};

const wellKnown = "/.well-known/oauth-protected-resource";

/**
 * The routes under `/.well-known`, which anybody may read: for each transport the protected-resource metadata (RFC 9728)
 * by which MCP clients find the issuer.
 */
export function metadataRoutes(authentication: Authentication | undefined, baseUrl: () => string): Router {
	const router = Router();
	const { issuer, scopes = [] } = authentication ?? {};
	for (const resource of issuer === undefined ? [] : ["/mcp", "/sse"]) {
		const described = () => ({
			resource: `${baseUrl()}${resource}`,
			authorization_servers: issuer === undefined ? [] : [issuer],
			bearer_methods_supported: ["header"],
			resource_name: "Palimpsest",
			...(scopes.length > 0 && { scopes_supported: [...scopes] }),
		});
		router.use(`${wellKnown}${resource}`, (request, response, next) =>
			metadataHandler(described())(request, response, next),
		);
	}
	router.use("/.well-known", (_request, response) => refuse(response, { status: 404, message: "Not found." }));
	return router;
}

/** The archives of one server's principals, each in its own namespace. */
export interface PrincipalArchives {
	/** The archive of a principal, opened at the first use; `undefined` if nothing is kept. */
	of(principal: string): ArchiveSource | undefined;
	/** The archives that were asked for last, 64 at most: an issuer may know any number of principals. */
	current(): Iterable<ArchiveSource>;
	/** Closes all of them once nothing uses them. */
	end(): void;
}

/** Open at the same time, as a rule: with Redis each holds a connection. */
const mostOpen = 64;

/** Makes the archives of principals; opens none yet. */
export function createPrincipalArchives(options: {
	readonly location: ArchiveLocation;
	readonly policy: () => Policy;
}): PrincipalArchives {
	const { location, policy } = options;
	const sources = new Map<string, ArchiveSource>();
	return {
		of(principal) {
			const namespace = namespaceOfPrincipal(location.namespace, principal);
			const source = sources.get(namespace) ?? createArchiveSource({ location: { ...location, namespace }, policy });
			if (!source) return undefined;
			// The map is in the order of the last use.
			sources.delete(namespace);
			sources.set(namespace, source);
			const [longestUnused] = sources.keys();
			// One in memory would lose its originals. Any other one is opened again at its next use.
			if (sources.size > mostOpen && longestUnused !== undefined && location.where !== "memory") {
				sources.get(longestUnused)?.end();
				sources.delete(longestUnused);
			}
			return source;
		},
		current: () => [...sources.values()].slice(-mostOpen),
		end() {
			for (const source of sources.values()) source.end();
			sources.clear();
		},
	};
}
