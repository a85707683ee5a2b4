import express, { type Express } from "express";
import type { Log } from "../../../pipeline/log-event.ts";
import type { Authentication } from "../../auth/create-authentication.ts";
import type { Metrics } from "../../operations/create-metrics.ts";
import type { ReadinessCheck } from "../../operations/create-readiness.ts";
import { healthRoutes, metricsRoute } from "../../operations/operations-routes.ts";
import { answerError } from "./answer-error.ts";
import { authenticate } from "./authenticate.ts";
import { checkHost } from "./check-host.ts";
import { checkOrigin } from "./check-origin.ts";
import { createBodyReader } from "./create-body-reader.ts";
import type { Sessions } from "./create-sessions.ts";
import { limitRequests } from "./limit-requests.ts";
import { createUnreadLimit, type UnreadLimits } from "./limit-unread.ts";
import type { Quotas } from "./quotas.ts";
import { refuse } from "./refuse.ts";
import { metadataRoutes, metadataUrlOf } from "./resource-metadata.ts";
import { setSecurityHeaders } from "./set-security-headers.ts";
import { sseRoutes } from "./sse-routes.ts";
import { statelessRoutes } from "./stateless-routes.ts";
import { streamableRoutes } from "./streamable-routes.ts";

/** What an application is made from. */
export interface ApplicationOptions {
	/** The host that the server listens on. */
	readonly host: string;
	/** Where clients reach the server, where that is another address than its own. */
	readonly publicUrl: URL | undefined;
	/** Where they reach it in any case, without a slash at the end; known once the server listens. */
	readonly baseUrl: () => string;
	readonly sessions: Sessions;
	readonly bodyLimitBytes: number;
	/** `undefined`: everybody is let in. */
	readonly authentication: Authentication | undefined;
	readonly quotas: Quotas;
	/** Whether each request stands alone; the older transport, which cannot do without sessions, is not there then. */
	readonly isStateless: boolean;
	/** Whether large arguments of calls are left to the threads of a pool. */
	readonly holdsArguments: boolean;
	readonly readiness: ReadinessCheck;
	/** `undefined`: not served. */
	readonly metrics: Metrics | undefined;
	/** What differs from 32 MiB for one stream, 256 MiB for all, and 60 s without anything read. */
	readonly unreadLimits?: UnreadLimits | undefined;
	readonly log: Log;
}

/** Most that is held of bodies that are still coming, in bytes. */
const bodiesAtOnce = 256 * 1024 * 1024;

/** As much as on standard output: the largest answers, some of them at once. */
const defaultUnreadLimits: UnreadLimits = {
	bytesOfOne: 32 * 1024 * 1024,
	bytesOfAll: 256 * 1024 * 1024,
	stallMilliseconds: 60_000,
};

/**
 * Makes the Express application. Host and Origin are checked before any route, unknown paths included: a web page could
 * otherwise reach the server through a name that it points at this machine (DNS rebinding). Then only health and what
 * tells how to get a token are open to all.
 */
export function createApplication(options: ApplicationOptions): Express {
	const { publicUrl, baseUrl, sessions, bodyLimitBytes, authentication, quotas, isStateless, log } = options;
	const application = express();
	application.disable("x-powered-by");
	application.disable("etag");
	application.use(setSecurityHeaders);
	application.use(checkHost(options));
	application.use(checkOrigin(publicUrl));
	application.use(healthRoutes(options.readiness));
	application.use(metadataRoutes(authentication, baseUrl));
	const { requestsPerMinute } = quotas;
	if (authentication) {
		const metadataUrl = metadataUrlOf(authentication, baseUrl);
		application.use(authenticate({ authentication, requestsPerMinute, metadataUrlOf: metadataUrl, log }));
	} else {
		application.use(limitRequests({ perMinute: requestsPerMinute, principalOf: () => undefined }));
	}
	if (options.metrics) application.use(metricsRoute(options.metrics));
	const bodies = createBodyReader({
		bytesOfOne: bodyLimitBytes,
		bytesOfAll: Math.max(bodiesAtOnce, bodyLimitBytes),
		holdsArguments: options.holdsArguments,
	});
	const unread = createUnreadLimit(options.unreadLimits ?? defaultUnreadLimits);
	if (isStateless) {
		application.use(statelessRoutes({ sessions, bodies, unread }));
	} else {
		application.use(streamableRoutes({ sessions, bodies, unread }));
		application.use(sseRoutes({ sessions, bodies, unread }));
	}
	const places = isStateless ? "/mcp (Streamable HTTP)" : "/mcp (Streamable HTTP) and /sse (HTTP+SSE)";
	application.use((_request, response) =>
		refuse(response, { status: 404, message: `Not found. MCP is at ${places}.` }),
	);
	application.use(answerError(log));
	return application;
}
