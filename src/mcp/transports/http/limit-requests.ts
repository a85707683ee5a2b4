import type { Request, RequestHandler } from "express";
import { ipKeyGenerator, rateLimit } from "express-rate-limit";
import { refuse } from "./refuse.ts";

/**
 * Makes a handler that lets so many requests a minute through for each principal, else for each address (of IPv6, for
 * each /56, of which one user has all). It tells where the quota stands in RateLimit headers.
 */
export function limitRequests(what: {
	readonly perMinute: number;
	readonly principalOf: (request: Request) => string | undefined;
}): RequestHandler {
	const { perMinute, principalOf } = what;
	if (perMinute === 0) return (_request, _response, next) => next();
	return rateLimit({
		windowMs: 60_000,
		limit: perMinute,
		standardHeaders: "draft-7",
		legacyHeaders: false,
		// Behind a proxy the address is the proxy's: what the client writes into X-Forwarded-For is not believed.
		validate: { xForwardedForHeader: false, forwardedHeader: false },
		keyGenerator(request) {
			const principal = principalOf(request);
			return principal === undefined ? `address ${ipKeyGenerator(request.ip ?? "", 56)}` : `principal ${principal}`;
		},
		handler(_request, response) {
			// Retry-After stands in the response already.
			refuse(response, {
				status: 429,
				message: `Too many requests: ${perMinute} a minute are taken. Try again later.`,
			});
		},
	});
}
