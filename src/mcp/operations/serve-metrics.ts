import { once } from "node:events";
import { createServer } from "node:http";
import express from "express";
import type { Log } from "../../pipeline/log-event.ts";
import { answerError } from "../transports/http/answer-error.ts";
import { checkHost, requireOneHost } from "../transports/http/check-host.ts";
import { checkOrigin } from "../transports/http/check-origin.ts";
import { hostInUrl } from "../transports/http/host-in-url.ts";
import { isLoopback } from "../transports/http/is-loopback.ts";
import { listen } from "../transports/http/listen.ts";
import { refuse } from "../transports/http/refuse.ts";
import { setSecurityHeaders } from "../transports/http/set-security-headers.ts";
import type { Address } from "../transports/parse-address.ts";
import type { Metrics } from "./create-metrics.ts";
import type { ReadinessCheck } from "./create-readiness.ts";
import { healthRoutes, metricsRoute } from "./operations-routes.ts";

/** A listener for operators that listens. */
export interface MetricsService {
	/** Such as `http://127.0.0.1:9464`, to which the path is added. */
	readonly url: string;
	/** Ends it at once. */
	close(): Promise<void>;
}

/**
 * Serves `/metrics`, `/healthz` and `/readyz` at an address of their own, without a token. On loopback a web page's
 * request is refused as on the main address; beyond, whoever reaches the address is meant to read it, by whatever name.
 *
 * @throws PalimpsestError `invalid_argument` where the address cannot be had.
 */
export async function serveMetrics(options: {
	readonly address: Address;
	readonly metrics: Metrics;
	readonly readiness: ReadinessCheck;
	readonly log: Log;
}): Promise<MetricsService> {
	const { address, metrics, readiness, log } = options;
	const application = express();
	application.disable("x-powered-by");
	application.disable("etag");
	application.use(setSecurityHeaders);
	const { host } = address;
	application.use(isLoopback(host) ? checkHost({ host, publicUrl: undefined }) : requireOneHost);
	application.use(checkOrigin(undefined));
	application.use(healthRoutes(readiness));
	application.use(metricsRoute(metrics));
	application.use((_request, response) =>
		refuse(response, { status: 404, message: "Not found. Here are /metrics, /healthz and /readyz." }),
	);
	application.use(answerError(log));
	const server = createServer({ headersTimeout: 5_000, requestTimeout: 5_000 }, application);
	const port = await listen(server, address);
	return {
		url: `http://${hostInUrl(address.host)}:${port}`,
		async close() {
			const ended = once(server, "close");
			server.close();
			server.closeAllConnections();
			await ended;
		},
	};
}
