import { InvalidTokenError } from "@modelcontextprotocol/sdk/server/auth/errors.js";
import { metadataHandler } from "@modelcontextprotocol/sdk/server/auth/handlers/metadata.js";
import { requireBearerAuth } from "@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js";
import type { OAuthTokenVerifier } from "@modelcontextprotocol/sdk/server/auth/provider.js";
import type { AuthInfo } from "@modelcontextprotocol/sdk/server/auth/types.js";
import { type Request, type RequestHandler, type Response, Router } from "express";
import { PalimpsestError } from "../../errors.ts";
import type { Log } from "../../operations/edit-record.ts";
import { refuse } from "./application.ts";
import { limitRequests, longestTimer } from "./limits.ts";
import { callerAuthInfo, createTokenList, findToken, tokenCaller } from "./tokens.ts";

export interface AuthenticationOptions {
	readonly tokensFile?: string | undefined;
	readonly tokensVariable?: string | undefined;
	readonly issuer?: string | undefined;
	readonly audiences?: readonly string[] | undefined;
	readonly jwks?: string | undefined;
	readonly scopes?: readonly string[] | undefined;
	readonly log: Log;
}

export type Authentication = NonNullable<Awaited<ReturnType<typeof createAuthentication>>>;

/** `undefined` if the options request none. Throws `invalid_argument` or `unreadable_file`. */
export async function createAuthentication(options: AuthenticationOptions) {
	const { tokensFile: file, tokensVariable: variable, issuer, audiences = [], jwks, scopes = [], log } = options;
	const refuseIf = (isWrong: boolean, expected: string): void => {
		if (isWrong) throw new PalimpsestError("invalid_argument", `Expected ${expected}.`);
	};
	const hasOthers = audiences.length > 0 || jwks !== undefined || scopes.length > 0;
	refuseIf(issuer === undefined && hasOthers, "--auth-issuer beside the other options for JSON Web Tokens");
	const why = "since tokens that the issuer made for other services would be taken otherwise";
	refuseIf(issuer !== undefined && audiences.length === 0, `--auth-audience beside --auth-issuer, ${why}`);
	const tokens = file !== undefined || variable ? createTokenList({ file, variable, log }) : undefined;
	// Loaded on demand: most servers have tokens of their own.
	const jwt = issuer === undefined ? undefined : await import("./jwt.ts");
	const jwtVerifier = await jwt?.createJwtVerifier({ issuer: issuer ?? "", audiences, jwks });
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

/** Before a body is read. Refused requests count by address, so that guessing tokens uses up nobody's quota. */
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
