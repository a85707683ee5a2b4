import { hostHeaderValidation } from "@modelcontextprotocol/sdk/server/middleware/hostHeaderValidation.js";
import express, { type Express, type RequestHandler } from "express";
import type { Log } from "../../../pipeline/log-event.ts";
import { version } from "../../../version.ts";
import { answerError } from "./answer-error.ts";
import { checkOrigin } from "./check-origin.ts";
import type { Sessions } from "./create-sessions.ts";
import { hostInUrl } from "./host-in-url.ts";
import { onlyMethods } from "./only-methods.ts";
import { refuse } from "./refuse.ts";
import { sseRoutes } from "./sse-routes.ts";
import { streamableRoutes } from "./streamable-routes.ts";

/** What an application is made from. */
export interface ApplicationOptions {
	/** The host that the server listens on. */
	readonly host: string;
	readonly sessions: Sessions;
	readonly bodyLimitBytes: number;
	readonly log: Log;
}

const setHeaders: RequestHandler = (_request, response, next) => {
	response.setHeader("X-Content-Type-Options", "nosniff");
	response.setHeader("Cache-Control", "no-store");
	next();
};

/**
 * Makes the Express application. Host and Origin are checked before any route, unknown paths included: a web page could
 * otherwise reach the server through a name that it points at this machine (DNS rebinding).
 */
export function createApplication({ host, sessions, bodyLimitBytes, log }: ApplicationOptions): Express {
	const application = express();
	application.disable("x-powered-by");
	application.disable("etag");
	application.use(setHeaders);
	application.use(hostHeaderValidation(["localhost", "127.0.0.1", "[::1]", hostInUrl(host)]));
	application.use(checkOrigin);
	application.all("/healthz", onlyMethods("GET", "HEAD"), (_request, response) => {
		response.json({ status: "ok", version });
	});
	application.use(streamableRoutes(sessions, bodyLimitBytes));
	application.use(sseRoutes(sessions, bodyLimitBytes));
	application.use((_request, response) =>
		refuse(response, { status: 404, message: "Not found. MCP is at /mcp (Streamable HTTP) and /sse (HTTP+SSE)." }),
	);
	application.use(answerError(log));
	return application;
}
