import { isIPv6 } from "node:net";
import type { Log, LogKind } from "../log.ts";
import { createAuthentication } from "../mcp/http/authenticate.ts";
import { createMetrics, type MetricsService, serveMetrics } from "../mcp/http/monitoring.ts";
import { type HttpOptions, type HttpService, serveHttp } from "../mcp/http/server.ts";
import { type CallPool, createPool } from "../mcp/pool/pool.ts";
import type { CompactionSource } from "../operations/config/compaction.ts";
import { type Address, parseAddress, parsePublicUrl } from "../operations/http/address.ts";
import { createReadiness } from "../operations/http/readiness.ts";
import { stateKeyIn } from "../operations/http/state-key.ts";
import { type ArchiveLocation, createPrincipalArchives, probeArchive } from "../storage/archive/open.ts";
import { untilSignal } from "./processes.ts";

export interface HttpServeOptions {
	/** `HOST:PORT`, or true for the default address; absent: standard input and output. */
	readonly http?: string | true;
	readonly publicUrl?: string;
	readonly stateless?: true;
	readonly authTokens?: string;
	readonly authIssuer?: string;
	readonly authAudience?: readonly string[];
	readonly authJwks?: string;
	readonly authScope?: readonly string[];
	readonly requestsPerMinute?: number;
	readonly concurrentCalls?: number;
	readonly callSeconds?: number;
	readonly sessionsPerPrincipal?: number;
	/** Address of the metrics: `HOST:PORT`, or true for `/metrics` of the server; absent: none. */
	readonly metrics?: string | true;
	readonly shutdownSeconds?: number;
	readonly threads?: number;
	readonly maxQueue?: number;
	readonly log?: LogKind;
}

/** The port of metrics with an address of their own, as of OpenTelemetry's exporter for Prometheus. */
const metricsPort = 9464;

/** `palimpsest serve --http`: serves until a signal ends it. Loaded on demand, so that stdio starts without Express. */
export async function serveOverHttp(
	server: Omit<HttpOptions, "address"> & { readonly compaction?: CompactionSource | undefined },
	options: HttpServeOptions & {
		readonly http: string | true;
		/** The operator's archive, within whose namespace each principal has one. */
		readonly location: ArchiveLocation;
		readonly announce: Log;
	},
): Promise<void> {
	const { policySource, log, archive, compaction } = server;
	const { location, announce, callSeconds, shutdownSeconds } = options;
	const address = parseAddress(options.http);
	const publicUrl = options.publicUrl === undefined ? undefined : parsePublicUrl(options.publicUrl);
	const authentication = await createAuthentication({
		tokensFile: options.authTokens,
		tokensVariable: process.env.PALIMPSEST_AUTH_TOKENS,
		issuer: options.authIssuer,
		audiences: options.authAudience,
		jwks: options.authJwks,
		scopes: options.authScope,
		log,
	});
	const archives = createPrincipalArchives({ location, policy: policySource.current });
	const readiness = createReadiness({ probe: archive && (() => archive.use((one) => probeArchive(one, location))) });
	let service: HttpService | undefined;
	let pool: CallPool | undefined;
	const metrics =
		options.metrics === undefined
			? undefined
			: await createMetrics({
					pool: options.threads === 0 ? undefined : () => pool?.stats(),
					running: () => service?.running() ?? 0,
				});
	if (options.threads !== 0) pool = createPool({ threads: options.threads, maxQueue: options.maxQueue });
	const close = async (): Promise<void> => {
		await Promise.allSettled([pool?.close(), own?.close(), compaction?.close()]);
		policySource.close();
		authentication?.close();
		archive?.end();
		archives.end();
	};
	const metricsAddress = typeof options.metrics === "string" ? metricsAddressOf(options.metrics) : undefined;
	let own: MetricsService | undefined;
	try {
		if (metrics && metricsAddress) own = await serveMetrics({ address: metricsAddress, metrics, readiness, log });
		service = await serveHttp({
			...server,
			address,
			publicUrl,
			authentication,
			archiveOf: archives.of,
			pool,
			archiveLocation: location.where === "none" ? undefined : location,
			onCallEnd(end) {
				metrics?.onCallEnd(end);
				server.onCallEnd?.(end);
			},
			readiness,
			metrics: options.metrics === true ? metrics : undefined,
			isStateless: options.stateless,
			stateKey: stateKeyIn(process.env),
			shutdownMilliseconds: shutdownSeconds === undefined ? undefined : shutdownSeconds * 1_000,
			quotas: {
				requestsPerMinute: options.requestsPerMinute,
				concurrentCalls: options.concurrentCalls,
				callMilliseconds: callSeconds === undefined ? undefined : callSeconds * 1_000,
				sessions: options.sessionsPerPrincipal,
			},
		});
	} catch (error) {
		await close();
		throw error;
	}
	// Before the announcement, whose readers may end the server.
	const ended = untilSignal().then(async (signal) => {
		announce({ level: "notice", message: "shutting down", data: { event: "shutting_down", signal } });
		await service.close();
		await close();
	});
	// Successful or not.
	void ended.finally(() => process.exit(0));
	const { url } = service;
	const sse = options.stateless ? "" : ` and ${url}/sse (HTTP+SSE)`;
	const data = { event: "listening", url, ...(own && { metrics_url: `${own.url}/metrics` }) };
	announce({ level: "notice", message: `serving MCP at ${url}/mcp (Streamable HTTP)${sse}`, data });
	if (own) announce({ level: "notice", message: `metrics at ${own.url}/metrics`, data: { event: "listening" } });
}

function metricsAddressOf(text: string): Address {
	const address = parseAddress(text);
	return !isIPv6(text) && /(?:^|:)\d+$/.test(text) ? address : { ...address, port: metricsPort };
}
