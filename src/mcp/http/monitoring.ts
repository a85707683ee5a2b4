import { once } from "node:events";
import { createServer } from "node:http";
import { Router } from "express";
import type { Gauge, Registry } from "prom-client";
import type { CallEnd, Log, OnCallEnd } from "../../log.ts";
import { tokensOf } from "../../log.ts";
import { type Address, hostInUrl, isLoopback, listen } from "../../operations/http/address.ts";
import { loadPrometheus } from "../../operations/http/prometheus.ts";
import type { ReadinessCheck } from "../../operations/http/readiness.ts";
import { version } from "../../version.ts";
import type { CallPool } from "../pool/pool.ts";
import { checkHost, createApplication, onlyMethods, requireOneHost } from "./application.ts";

export type Metrics = Awaited<ReturnType<typeof createMetrics>>;

/** Labels are names of tools and outcomes: no principal, no text, no id. Throws `invalid_argument`. */
export async function createMetrics(
	sources: {
		readonly pool?: (() => ReturnType<CallPool["stats"]> | undefined) | undefined;
		readonly running?: () => number;
	},
	load?: () => Promise<typeof import("prom-client")>,
) {
	const { pool, running } = sources;
	const prometheus = await loadPrometheus(load);
	const registry = new prometheus.Registry();
	prometheus.collectDefaultMetrics({ register: registry });
	const gauge = (name: string, help: string, read: () => number | undefined) => {
		const collect = function (this: Gauge) {
			this.set(read() ?? Number.NaN);
		};
		new prometheus.Gauge({ name: `palimpsest_${name}`, help, registers: [registry], collect });
	};
	const build = { name: "palimpsest_build_info", help: "1, with the version that runs.", labelNames: ["version"] };
	new prometheus.Gauge({ ...build, registers: [registry] }).set({ version }, 1);
	gauge("requests_running", "Requests of clients that wait for an answer.", () => running?.());
	if (pool) {
		gauge("pool_running", "Calls that a worker thread works on.", () => pool()?.running);
		gauge("pool_queued", "Calls that wait for a worker thread.", () => pool()?.queued);
		gauge("pool_capacity", "Calls that can run in worker threads at once.", () => pool()?.capacity);
	}
	const onCallEnd = countCalls(prometheus, registry);
	return { onCallEnd, contentType: registry.contentType, text: () => registry.metrics() };
}

const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

const counters: readonly (readonly [name: string, help: string, amount: (end: CallEnd) => number | undefined])[] = [
	["call_request_bytes_total", "Bytes of the arguments of calls.", ({ bytesIn }) => bytesIn],
	["call_response_bytes_total", "Bytes of the answers to calls.", ({ bytesOut }) => bytesOut],
	["tokens_before_total", "Tokens of conversations before editing.", (end) => tokensOf(end)?.before],
	["tokens_after_total", "Tokens of conversations after editing.", (end) => tokensOf(end)?.after],
	["masked_tool_results_total", "Tool results replaced by placeholders.", sumOf("masked_tool_results")],
	["truncations_total", "Tool results and texts that were cut.", sumOf("truncated_tool_results", "truncated")],
	["dropped_messages_total", "Messages that were dropped.", sumOf("dropped_messages")],
];

function sumOf(...names: readonly string[]): (end: CallEnd) => number | undefined {
	const countOf = (value: unknown) => (typeof value === "number" || value === true ? Number(value) : 0);
	return ({ report }) => report && names.reduce((sum, name) => sum + countOf(report[name]), 0);
}

function countCalls(prometheus: typeof import("prom-client"), registry: Registry): OnCallEnd {
	const { Counter, Histogram } = prometheus;
	const registers = [registry];
	const labelNames = ["tool"];
	const ended = { name: "palimpsest_calls_total", help: "Calls that have ended.", labelNames: ["tool", "outcome"] };
	const calls = new Counter({ ...ended, registers });
	const help = "Time from a call's arrival until its answer was made.";
	const duration = new Histogram({ name: "palimpsest_call_duration_seconds", help, labelNames, buckets, registers });
	const amounts = counters.map(([name, help, amount]) => {
		return { counter: new Counter({ name: `palimpsest_${name}`, help, labelNames, registers }), amount };
	});
	return (end) => {
		const { tool, outcome, milliseconds } = end;
		calls.inc({ tool, outcome });
		duration.observe({ tool }, milliseconds / 1_000);
		for (const { counter, amount } of amounts) {
			const value = amount(end);
			if (value !== undefined) counter.inc({ tool }, value);
		}
	};
}

export function metricsRoute(metrics: Metrics): Router {
	// Exact paths: a proxy that refuses /metrics would let /Metrics and /metrics/ through.
	const router = Router({ caseSensitive: true, strict: true });
	router.all("/metrics", onlyMethods("GET", "HEAD"), async (_request, response) => {
		response.set("Content-Type", metrics.contentType).send(await metrics.text());
	});
	return router;
}

export type MetricsService = Awaited<ReturnType<typeof serveMetrics>>;

/** Serves metrics without a token: beyond loopback, everybody who reaches the address may read them. Throws `invalid_argument`. */
export async function serveMetrics(options: {
	readonly address: Address;
	readonly metrics: Metrics;
	readonly readiness: ReadinessCheck;
	readonly log: Log;
}) {
	const { address, metrics, readiness, log } = options;
	const { host } = address;
	const application = createApplication({
		hostCheck: isLoopback(host) ? checkHost({ host, publicUrl: undefined }) : requireOneHost,
		publicUrl: undefined,
		routes: [healthRoutes(readiness), metricsRoute(metrics)],
		notFound: "Available here: /metrics, /healthz and /readyz.",
		log,
	});
	const server = createServer({ headersTimeout: 5_000, requestTimeout: 5_000 }, application);
	const port = await listen(server, address);
	return {
		url: `http://${hostInUrl(host)}:${port}`,
		async close(): Promise<void> {
			const ended = once(server, "close");
			server.close();
			server.closeAllConnections();
			await ended;
		},
	};
}

export function healthRoutes(readiness: ReadinessCheck): Router {
	const router = Router();
	router.all("/healthz", onlyMethods("GET", "HEAD"), (_request, response) => {
		response.json({ status: "ok", version });
	});
	router.all("/readyz", onlyMethods("GET", "HEAD"), async (_request, response) => {
		const found = await readiness.current();
		if (found.ready) response.json({ status: "ready" });
		else response.status(503).set("Retry-After", "5").json({ status: "not_ready", reason: found.reason });
	});
	return router;
}
