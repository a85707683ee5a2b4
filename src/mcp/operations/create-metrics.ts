import type { Gauge } from "prom-client";
import { PalimpsestError } from "../../errors.ts";
import { version } from "../../version.ts";
import type { CallEnd } from "../call-end.ts";
import type { PoolStats } from "../pool/call-pool.ts";
import { countCalls } from "./count-calls.ts";

/** What an operator's Prometheus reads. */
export interface Metrics {
	/** Counts a call that has ended. */
	readonly onCallEnd: (end: CallEnd) => void;
	/** What `text` answers is of this type. */
	readonly contentType: string;
	/** Every metric, in the text format of Prometheus. */
	text(): Promise<string>;
	/** Stops to measure. */
	close(): void;
}

/** What a server holds and how busy it is, asked each time that somebody reads the metrics. */
export interface MetricsSources {
	readonly pool?: (() => PoolStats | undefined) | undefined;
	/** Requests of clients that wait for an answer. */
	readonly running?: (() => number) | undefined;
	/** Originals in the archive and the bytes of their texts; `undefined`, told as NaN, where it is not known. */
	readonly archive?: (() => { readonly originals: number; readonly bytes: number } | undefined) | undefined;
}

/** Loads the package, which is not installed everywhere. */
export type LoadPrometheus = () => Promise<typeof import("prom-client")>;

/**
 * Makes the metrics of one server: calls, what they saved, how busy the server is, and the process itself (memory,
 * handles, event-loop lag, garbage collection). Labels are names of tools and outcomes: no principal, no text, no id.
 *
 * @throws PalimpsestError `invalid_argument` where prom-client is not installed.
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
