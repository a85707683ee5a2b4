import { createServer as createHttpServer } from "node:http";
import type { ArchiveSource } from "../../config/create-archive-source.ts";
import { PalimpsestError } from "../../errors.ts";
import { type Caller, callerOfToken } from "../auth/caller.ts";
import type { Authentication } from "../auth/create-authentication.ts";
import type { ServerOptions } from "../create-server.ts";
import type { Metrics } from "../operations/create-metrics.ts";
import { createReadiness, type ReadinessCheck } from "../operations/create-readiness.ts";
import { trackCalls } from "../operations/track-calls.ts";
import { createApplication } from "./http/create-application.ts";
import { createCloser } from "./http/create-closer.ts";
import { createSessions } from "./http/create-sessions.ts";
import { hostInUrl } from "./http/host-in-url.ts";
import { isLoopback } from "./http/is-loopback.ts";
import type { UnreadLimits } from "./http/limit-unread.ts";
import { listen } from "./http/listen.ts";
import { defaultQuotas, type Quotas } from "./http/quotas.ts";
import type { Address } from "./parse-address.ts";

/**
 * Time in ms for which a connection stays open between two requests: longer than proxies keep theirs (nginx 60 s, Caddy
 * 120 s), since who hangs up first breaks a request that is on its way. Node's own is 5 s.
 */
const keepAliveTimeout = 125_000;

/** What an HTTP server is made from. The policy source stays the caller's: it outlives the server. */
export interface HttpOptions extends ServerOptions {
	/** Beyond loopback only with authentication; port 0 takes a free one. */
	readonly address: Address;
	/** Where clients reach the server, such as a proxy's `https://host`; beyond loopback only with authentication. */
	readonly publicUrl?: URL | undefined;
	/** Who is let in; absent: everybody on this machine. */
	readonly authentication?: Authentication | undefined;
	/** The archive of a principal; needed with authentication, where `archive` is nobody's. */
	readonly archiveOf?: ((principal: string) => ArchiveSource | undefined) | undefined;
	/** Whether each request stands alone, for several processes behind a balancer. */
	readonly isStateless?: boolean | undefined;
	/** What differs from `defaultQuotas`. */
	readonly quotas?: { readonly [quota in keyof Quotas]?: Quotas[quota] | undefined } | undefined;
	/** Largest request body, in bytes. Default 16 MiB. */
	readonly bodyLimitBytes?: number | undefined;
	/** Time without any request or open stream after which a session is closed. Default 30 minutes. */
	readonly idleMilliseconds?: number | undefined;
	/** Time without any request or open stream after which the calls of a session are stopped. Default 30 s. */
	readonly goneMilliseconds?: number | undefined;
	/** Sessions open at the same time, of both transports and all principals together. Default 1 000. */
	readonly maxSessions?: number | undefined;
	/** How long a client may take to send its headers, and its whole request, in ms. Default 15 s and 60 s. */
	readonly patience?: { readonly headers: number; readonly request: number } | undefined;
	/** How much may wait for clients that do not read, and how long. Default 32 MiB a stream, 256 MiB in all, 60 s. */
	readonly unreadLimits?: UnreadLimits | undefined;
	/** What `/readyz` answers; by default ready until the server closes. */
	readonly readiness?: ReadinessCheck | undefined;
	/** Served at `/metrics`, to those who may call. */
	readonly metrics?: Metrics | undefined;
	/** How long closing may take, what runs being finished, in ms. Default 10 s. */
	readonly shutdownMilliseconds?: number | undefined;
}

/** A server that listens. */
export interface HttpService {
	/** Such as `http://127.0.0.1:8765`, to which the path is added: `/mcp` or `/sse`. */
	readonly url: string;
	readonly port: number;
	/** How many requests of clients wait for an answer. */
	running(): number;
	/** Stops accepting, finishes what runs in the time that is given for it, and ends every session. */
	close(): Promise<void>;
}

/**
 * Serves many clients over HTTP: Streamable HTTP at `/mcp`, the older HTTP+SSE at `/sse` and `/messages`, and `/healthz`.
 * Each session has a server of its own.
 *
 * @throws PalimpsestError `invalid_argument` for an address beyond loopback without authentication, or one that cannot be
 * had.
 */
export async function serveHttp(options: HttpOptions): Promise<HttpService> {
	const { address, publicUrl, authentication, archiveOf, log } = options;
	refuseStrangers(options);
	const given = Object.entries(options.quotas ?? {}).filter(([, quota]) => quota !== undefined);
	const quotas = { ...defaultQuotas({ isAuthenticated: authentication !== undefined }), ...Object.fromEntries(given) };
	const readiness = options.readiness ?? createReadiness({});
	const ownSessions = createSessions({
		policySource: options.policySource,
		log,
		archive: authentication ? undefined : options.archive,
		archiveOf,
		compaction: options.compaction,
		allowedPaths: options.allowedPaths,
		pool: options.pool,
		archiveLocation: options.archiveLocation,
		onCallEnd: options.onCallEnd,
		onlyAnswers: options.isStateless,
		idleMilliseconds: options.idleMilliseconds ?? 30 * 60_000,
		goneMilliseconds: options.goneMilliseconds,
		maxSessions: options.maxSessions ?? 1_000,
		quotas,
	});
	const sessions = trackCalls(ownSessions);
	let port = address.port;
	const ownUrl = () => `http://${hostInUrl(address.host)}:${port}`;
	const application = createApplication({
		host: address.host,
		publicUrl,
		baseUrl: () => publicUrl?.origin ?? ownUrl(),
		sessions,
		bodyLimitBytes: options.bodyLimitBytes ?? 16 * 1024 * 1024,
		authentication,
		quotas,
		isStateless: options.isStateless ?? false,
		holdsArguments: options.pool !== undefined,
		unreadLimits: options.unreadLimits,
		readiness,
		metrics: options.metrics,
		log,
	});
	// A token that was taken back opens nothing more, and what it opened is closed.
	authentication?.tokens?.onChange(() => {
		const inForce = authentication.tokens?.current().map(callerOfToken) ?? [];
		const isInForce = ({ principal, credential }: Caller) =>
			inForce.some((one) => one.principal === principal && one.credential === credential);
		void sessions.closeOf((caller) => caller.credential !== undefined && !isInForce(caller));
	});
	// Both times end when a request has come in whole; answers and streams may take as long as they like.
	const { headers, request } = options.patience ?? { headers: 15_000, request: 60_000 };
	const connectionsCheckingInterval = Math.min(5_000, headers);
	const server = createHttpServer(
		{ headersTimeout: headers, requestTimeout: request, connectionsCheckingInterval, keepAliveTimeout },
		application,
	);
	const { shutdownMilliseconds = 10_000 } = options;
	const close = createCloser({ server, sessions, shutdownMilliseconds, onBegin: readiness.beginShutdown });
	port = await listen(server, address);
	return { url: ownUrl(), port, running: sessions.running, close };
}

/** Whoever can reach the server can use it where it asks for no token. */
function refuseStrangers({ address, publicUrl, authentication }: HttpOptions): void {
	if (authentication) return;
	const [beyond] = [address.host, publicUrl?.hostname ?? "localhost"].filter((host) => !isLoopback(host));
	if (beyond === undefined) return;
	throw new PalimpsestError(
		"invalid_argument",
		`Expected a loopback address (localhost, 127.0.0.1 or ::1), got ${JSON.stringify(beyond)}. Serving beyond this machine needs authentication: --auth-tokens FILE, PALIMPSEST_AUTH_TOKENS, or --auth-issuer URL with --auth-audience.`,
	);
}
