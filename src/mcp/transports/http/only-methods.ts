import type { RequestHandler } from "express";
import { refuse } from "./refuse.ts";

/**
 * Makes a handler that refuses every other method. It stands before a path's routes, since Express would send a HEAD to
 * the GET route, which opens a stream.
 */
export function onlyMethods(...methods: readonly string[]): RequestHandler {
	const allow = methods.join(", ");
	return (request, response, next) => {
		if (methods.includes(request.method)) return next();
		refuse(response, { status: 405, message: `Expected one of ${allow}.`, headers: { Allow: allow } });
	};
}
