import { type RequestHandler, Router } from "express";
import { version } from "../../version.ts";
import { onlyMethods } from "../transports/http/only-methods.ts";
import type { Metrics } from "./create-metrics.ts";
import type { ReadinessCheck } from "./create-readiness.ts";

/** The routes that tell whether the server runs, at `/healthz`, and whether it can take calls, at `/readyz`. */
export function healthRoutes(readiness: ReadinessCheck): Router {
	const health: RequestHandler = (_request, response) => {
		response.json({ status: "ok", version });
	};
	const ready: RequestHandler = async (_request, response) => {
		const found = await readiness.current();
		if (found.ready) response.json({ status: "ready" });
		else response.status(503).set("Retry-After", "5").json({ status: "not_ready", reason: found.reason });
	};
	const router = Router();
	router.all("/healthz", onlyMethods("GET", "HEAD"), health);
	router.all("/readyz", onlyMethods("GET", "HEAD"), ready);
	return router;
}

/** The route of the metrics, at `/metrics`. */
export function metricsRoute(metrics: Metrics): Router {
	// To the letter: a proxy that refuses /metrics would let /Metrics and /metrics/ through.
	const router = Router({ caseSensitive: true, strict: true });
	router.all("/metrics", onlyMethods("GET", "HEAD"), async (_request, response) => {
		response.set("Content-Type", metrics.contentType).send(await metrics.text());
	});
	return router;
}
