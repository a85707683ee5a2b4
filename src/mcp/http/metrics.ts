import { once } from "node:events";
import { createServer } from "node:http";
import { Router } from "express";
import type { Gauge, Registry } from "prom-client";
import type { ArchiveSource } from "../../config/archive.ts";
import { PalimpsestError } from "../../errors.ts";
import type { Log } from "../../operations/edit-record.ts";
import { version } from "../../version.ts";
import type { CallPool } from "../pool/pool.ts";
import type { CallEnd, OnCallEnd } from "../run-tool.ts";
import { type Address, hostInUrl, isLoopback } from "./address.ts";
import { checkHost, onlyMethods, requireOneHost } from "./guards.ts";
import { createApplication, listen } from "./listen.ts";
import { healthRoutes, type ReadinessCheck } from "./readiness.ts";

/** The metrics that an operator's Prometheus reads. */
export interface Metrics {
	/** Counts a call that has ended. */
	readonly onCallEnd: (end: CallEnd) => void;
	/** The content type of `text`. */
	readonly contentType: string;
	/** Every metric, in the text format of Prometheus. */
	text(): Promise<string>;
	/** Stops measuring. */
	close(): void;
}

/** Values that are read each time somebody reads the metrics. */
export interface MetricsSources {
	readonly pool?: (() => ReturnType<CallPool["stats"]> | undefined) | undefined;
	/** Requests of clients that wait for an answer. */
	readonly running?: (() => number) | undefined;
	/** Originals in the archive and the bytes of their texts; `undefined`, shown as NaN, if unknown. */
	readonly archive?: (() => ArchiveSize | undefined) | undefined;
}

/** Loads the package, which is not installed everywhere. */
export type LoadPrometheus = () => Promise<typeof import("prom-client")>;

/**
 * Makes the metrics of one server: calls, their savings, the load of the server, and the process itself (memory, handles,
 * event-loop lag, garbage collection). Labels are names of tools and outcomes: no principal, no text, no id.
 *
 * @throws PalimpsestError `invalid_argument` if prom-client is not installed.
 */
export async function createMetrics(
	sources: MetricsSources,
	load: LoadPrometheus = () => import("prom-client"),
): Promise<Metrics> {
	const prometheus = await load().catch((cause) => {
		const message = "Metrics need the package prom-client. Install it: npm install prom-client";
		throw new PalimpsestError("invalid_argument", message, { cause });
	});
	const registry = new prometheus.Registry();
	prometheus.collectDefaultMetrics({ register: registry });
	const gauge = (name: string, help: string, read: () => number | undefined) => {
		const collect = function (this: Gauge) {
			this.set(read() ?? Number.NaN);
		};
		new prometheus.Gauge({ name, help, registers: [registry], collect });
	};
	const build = { name: "palimpsest_build_info", help: "1, with the version that runs.", labelNames: ["version"] };
	new prometheus.Gauge({ ...build, registers: [registry] }).set({ version }, 1);
	gauge("palimpsest_requests_running", "Requests of clients that wait for an answer.", () => sources.running?.());
	if (sources.pool) {
		const { pool } = sources;
		gauge("palimpsest_pool_running", "Calls that a worker thread works on.", () => pool()?.running);
		gauge("palimpsest_pool_queued", "Calls that wait for a worker thread.", () => pool()?.queued);
		gauge("palimpsest_pool_capacity", "Calls that can run in worker threads at once.", () => pool()?.capacity);
	}
	if (sources.archive) {
		const { archive } = sources;
		const where = "in the namespaces that this process has used";
		gauge("palimpsest_archive_originals", `Originals ${where}.`, () => archive()?.originals);
		gauge("palimpsest_archive_bytes", `Bytes of the originals ${where}.`, () => archive()?.bytes);
	}
	return {
		onCallEnd: countCalls(prometheus, registry),
		contentType: registry.contentType,
		text: () => registry.metrics(),
		close: () => registry.clear(),
	};
}

/** In seconds, from the time of a small call to the longest that is allowed by default. */
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** Counts calls into a registry: how many, how long, how large, and how much they removed from conversations. */
function countCalls(prometheus: typeof import("prom-client"), registry: Registry): OnCallEnd {
	const counter = (name: string, help: string, labelNames: readonly string[] = ["tool"]) =>
		new prometheus.Counter({ name, help, labelNames: [...labelNames], registers: [registry] });
	const calls = counter("palimpsest_calls_total", "Calls that have ended.", ["tool", "outcome"]);
	const duration = new prometheus.Histogram({
		name: "palimpsest_call_duration_seconds",
		help: "Time from a call's arrival until its answer was made.",
		labelNames: ["tool"],
		buckets,
		registers: [registry],
	});
	const bytesIn = counter("palimpsest_call_request_bytes_total", "Bytes of the arguments of calls.");
	const bytesOut = counter("palimpsest_call_response_bytes_total", "Bytes of the answers to calls.");
	const tokensBefore = counter("palimpsest_tokens_before_total", "Tokens of conversations as they came.");
	const tokensAfter = counter("palimpsest_tokens_after_total", "Tokens of conversations as they were answered.");
	const masked = counter("palimpsest_masked_tool_results_total", "Tool results replaced by placeholders.");
	const truncated = counter("palimpsest_truncations_total", "Tool results and texts that were cut.");
	const dropped = counter("palimpsest_dropped_messages_total", "Messages that were dropped.");

	return ({ tool, outcome, milliseconds, bytesIn: came, bytesOut: went, report }) => {
		calls.inc({ tool, outcome });
		duration.observe({ tool }, milliseconds / 1_000);
		bytesIn.inc({ tool }, came);
		bytesOut.inc({ tool }, went);
		if (!report) return;
		const { tokens } = report;
		if (typeof tokens === "object") {
			tokensBefore.inc({ tool }, tokens.before);
			tokensAfter.inc({ tool }, tokens.after);
		}
		masked.inc({ tool }, numberOf(report.masked_tool_results));
		truncated.inc({ tool }, numberOf(report.truncated_tool_results) + Number(report.truncated === true));
		dropped.inc({ tool }, numberOf(report.dropped_messages));
	};
}

function numberOf(value: unknown): number {
	return typeof value === "number" ? value : 0;
}

/** How much archives hold, together. */
export interface ArchiveSize {
	readonly originals: number;
	/** Bytes of the texts. */
	readonly bytes: number;
}

/** Shortest time between two measurements, in ms. */
const shortestPause = 10_000;
/** The pause in measurements' own time, so that measuring takes 1 % of one connection or disk at most. */
const pausePerWork = 100;

/**
 * Makes the function that tells how much archives hold. It returns the last measurement at once, `undefined` before the
 * first. It starts the next one in the background when that is due, because an archive has to look at each of its texts.
 */
export function measureArchives(sources: () => Iterable<ArchiveSource>): () => ArchiveSize | undefined {
	let last: ArchiveSize | undefined;
	let dueAt = 0;

	const measure = async (): Promise<void> => {
		const begun = performance.now();
		dueAt = Number.POSITIVE_INFINITY;
		try {
			let [originals, bytes] = [0, 0];
			for (const source of sources()) {
				const stats = await source.use((archive) => archive.stats());
				originals += stats.originals;
				bytes += stats.bytes;
			}
			last = { originals, bytes };
		} catch {
			// Callers and the readiness check learn from the archive itself that it cannot be reached.
			last = undefined;
		}
		const now = performance.now();
		dueAt = now + Math.max(shortestPause, pausePerWork * (now - begun));
	};
	return () => {
		if (performance.now() >= dueAt) void measure();
		return last;
	};
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

/** A running listener for operators. */
export interface MetricsService {
	/** Such as `http://127.0.0.1:9464`, to which the path is added. */
	readonly url: string;
	/** Ends it at once. */
	close(): Promise<void>;
}

/**
 * Serves `/metrics`, `/healthz` and `/readyz` at an address of their own, without a token. On loopback it refuses requests
 * of web pages as the main address does. Beyond loopback, everybody who reaches the address may read it, by any name.
 *
 * @throws PalimpsestError `invalid_argument` if the address is not available.
 */
export async function serveMetrics(options: {
	readonly address: Address;
	readonly metrics: Metrics;
	readonly readiness: ReadinessCheck;
	readonly log: Log;
}): Promise<MetricsService> {
	const { address, metrics, readiness, log } = options;
	const { host } = address;
	const application = createApplication({
		hostCheck: isLoopback(host) ? checkHost({ host, publicUrl: undefined }) : requireOneHost,
		publicUrl: undefined,
		routes: [healthRoutes(readiness), metricsRoute(metrics)],
		notFound: "Here are /metrics, /healthz and /readyz.",
		log,
	});
	const server = createServer({ headersTimeout: 5_000, requestTimeout: 5_000 }, application);
	const port = await listen(server, address);
	return {
		url: `http://${hostInUrl(host)}:${port}`,
		async close() {
			const ended = once(server, "close");
			server.close();
			server.closeAllConnections();
			await ended;
		},
	};
}
