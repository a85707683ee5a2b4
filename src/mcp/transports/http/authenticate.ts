import { InvalidTokenError } from "@modelcontextprotocol/sdk/server/auth/errors.js";
import { requireBearerAuth } from "@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js";
import type { AuthInfo } from "@modelcontextprotocol/sdk/server/auth/types.js";
import type { Request, RequestHandler, Response } from "express";
import type { Log } from "../../../pipeline/log-event.ts";
import type { Authentication } from "../../auth/create-authentication.ts";
import { limitRequests } from "./limit-requests.ts";
import { refuse } from "./refuse.ts";

/** What the check of tokens is made from. */
export interface AuthenticateOptions {
	readonly authentication: Authentication;
	readonly requestsPerMinute: number;
	/** Where a client learns how to get a token for what it asked for; `undefined` where it cannot. */
	readonly metadataUrlOf: (request: Request) => string | undefined;
	readonly log: Log;
}

type Outcome = { readonly info: AuthInfo } | { readonly error: Error };

// A timer for longer than this fires at once.
const longestTimer = 2 ** 31 - 1;

/**
 * Makes the handlers that let only known callers through and count their requests: theirs by principal, those that are
 * refused by address, so that whoever guesses tokens uses up nobody's quota. No byte of a body is read before.
 */
export function authenticate(options: AuthenticateOptions): RequestHandler[] {
	const { authentication, requestsPerMinute, metadataUrlOf, log } = options;
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
		const resourceMetadataUrl = metadataUrlOf(request);
		const check = requireBearerAuth({
			verifier: {
				async verifyAccessToken() {
					const outcome = outcomes.get(request) ?? { error: new InvalidTokenError("Expected: Bearer TOKEN") };
					if ("error" in outcome) throw outcome.error;
					return outcome.info;
				},
			},
			requiredScopes: [...scopes],
			...(resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl }),
		});
		return check(request, response, next);
	};
	return [verify, limitRequests({ perMinute: requestsPerMinute, principalOf }), admit, endStreamsInTime];
}

/** Ends the stream that a token opened when the token expires. A call that began in time is answered all the same. */
const endStreamsInTime: RequestHandler = (request, response, next) => {
	const left = (request.auth?.expiresAt ?? 0) * 1_000 - Date.now();
	if (request.method === "GET" && left < longestTimer) {
		const timer = setTimeout(() => response.end(), left);
		timer.unref();
		response.once("close", () => clearTimeout(timer));
	}
	next();
};
