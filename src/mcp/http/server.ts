import { once } from "node:events";
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import type { ArchiveSource } from "../../config/archive.ts";
import { PalimpsestError } from "../../errors.ts";
import type { ServerOptions } from "../server.ts";
import { type Address, hostInUrl, isLoopback } from "./address.ts";
import { createUnreadLimit, type UnreadLimits } from "./answers.ts";
import { type Authentication, authenticate, metadataRoutes } from "./authenticate.ts";
import { createBodyReader } from "./body.ts";
import { type Caller, callerOfToken } from "./caller.ts";
import { checkHost } from "./guards.ts";
import { defaultQuotas, limitRequests, type Quotas } from "./limits.ts";
import { createApplication, listen } from "./listen.ts";
import { type Metrics, metricsRoute } from "./metrics.ts";
import { createReadiness, healthRoutes, type ReadinessCheck } from "./readiness.ts";
import { createSessions, type Sessions, sseRoutes, statelessRoutes, streamableRoutes } from "./sessions.ts";

/**
 * Time in ms for which a connection stays open between two requests. It is longer than that of proxies (nginx 60 s, Caddy
 * 120 s): if the server hung up first, it would break a request that is on its way. Node's default is 5 s.
 */
const keepAliveTimeout = 125_000;

/** The options of an HTTP server. The caller closes the policy source, which outlives the server. */
export interface HttpOptions extends ServerOptions {
	/** Beyond loopback only with authentication; port 0 takes a free port. */
	readonly address: Address;
	/** The address under which clients reach the server, such as a proxy's `https://host`; beyond loopback only with authentication. */
	readonly publicUrl?: URL | undefined;
	/** The check of callers; absent: everybody on this machine is let in. */
	readonly authentication?: Authentication | undefined;
	/** The archive of a principal; needed with authentication, which leaves `archive` unused. */
	readonly archiveOf?: ((principal: string) => ArchiveSource | undefined) | undefined;
	/** Whether each request stands alone, for several processes behind a balancer. */
	readonly isStateless?: boolean | undefined;
	/** Quotas that differ from `defaultQuotas`. */
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
	/** How many bytes may wait for clients that do not read, and how long. Default 32 MiB a stream, 256 MiB in all, 60 s. */
	readonly unreadLimits?: UnreadLimits | undefined;
	/** The check behind `/readyz`; by default ready until the server closes. */
	readonly readiness?: ReadinessCheck | undefined;
	/** Served at `/metrics`, to those who may call. */
	readonly metrics?: Metrics | undefined;
	/** How long closing may take, in ms, with calls under way being finished. Default 10 s. */
	readonly shutdownMilliseconds?: number | undefined;
}

/** A running server. */
export interface HttpService {
	/** Such as `http://127.0.0.1:8765`, to which the path is added: `/mcp` or `/sse`. */
	readonly url: string;
	readonly port: number;
	/** The number of requests of clients that wait for an answer. */
	running(): number;
	/** Stops accepting, finishes calls under way within `shutdownMilliseconds`, and ends every session. */
	close(): Promise<void>;
}

/**
 * Serves many clients over HTTP: Streamable HTTP at `/mcp`, the older HTTP+SSE at `/sse` and `/messages`, and `/healthz`.
 * Each session has its own server.
 *
 * @throws PalimpsestError `invalid_argument` for an address beyond loopback without authentication, or one that is not
 * available.
 */
export async function serveHttp(options: HttpOptions): Promise<HttpService> {
	const { address, authentication, log, shutdownMilliseconds = 10_000 } = options;
	refuseStrangers(options);
	const given = Object.entries(options.quotas ?? {}).filter(([, quota]) => quota !== undefined);
	const quotas = { ...defaultQuotas({ isAuthenticated: authentication !== undefined }), ...Object.fromEntries(given) };
	const readiness = options.readiness ?? createReadiness({});
	// One by one: clients over HTTP may run on other machines, so options such as `sharesFiles` must not reach their servers.
	const sessions = createSessions({
		policySource: options.policySource,
		log,
		archive: authentication ? undefined : options.archive,
		archiveOf: options.archiveOf,
		compaction: options.compaction,
		allowedPaths: options.allowedPaths,
		pool: options.pool,
		archiveLocation: options.archiveLocation,
		onCallEnd: options.onCallEnd,
		onlyAnswers: options.isStateless,
		goneMilliseconds: options.goneMilliseconds,
		idleMilliseconds: options.idleMilliseconds ?? 30 * 60_000,
		maxSessions: options.maxSessions ?? 1_000,
		quotas,
	});
	let port = address.port;
	const ownUrl = () => `http://${hostInUrl(address.host)}:${port}`;
	const baseUrl = () => options.publicUrl?.origin ?? ownUrl();
	const routes = routesOf(options, { sessions, quotas, readiness, baseUrl });
	const application = createApplication(routes);
	// A token that the operator took back opens no more sessions, and those that it opened are closed.
	authentication?.tokens?.onChange(() => {
		const inForce = authentication.tokens?.current().map(callerOfToken) ?? [];
		const isInForce = ({ principal, credential }: Caller) =>
			inForce.some((one) => one.principal === principal && one.credential === credential);
		void sessions.closeOf((caller) => caller.credential !== undefined && !isInForce(caller));
	});
	// Both times end when a request has come in whole; answers and streams may take any time.
	const { headers, request } = options.patience ?? { headers: 15_000, request: 60_000 };
	const connectionsCheckingInterval = Math.min(5_000, headers);
	const server = createHttpServer(
		{ headersTimeout: headers, requestTimeout: request, connectionsCheckingInterval, keepAliveTimeout },
		application,
	);
	const close = createCloser({ server, sessions, shutdownMilliseconds, onBegin: readiness.beginShutdown });
	port = await listen(server, address);
	return { url: ownUrl(), port, running: sessions.waiting, close };
}

/** Most bytes that are held of bodies that are still arriving. */
const bodiesAtOnce = 256 * 1024 * 1024;

/** As much as on standard output: several of the largest answers. */
const defaultUnreadLimits: UnreadLimits = {
	bytesOfOne: 32 * 1024 * 1024,
	bytesOfAll: 256 * 1024 * 1024,
	stallMilliseconds: 60_000,
};

interface RoutesParts {
	readonly sessions: Sessions;
	readonly quotas: Quotas;
	readonly readiness: ReadinessCheck;
	/** The address under which clients reach the server, without a slash at the end; known once it listens. */
	readonly baseUrl: () => string;
}

/** The routes of a server, in their order. Only health and the metadata for getting a token are open to all. */
function routesOf(options: HttpOptions, { sessions, quotas, readiness, baseUrl }: RoutesParts) {
	const { address, publicUrl, authentication, metrics, isStateless = false, log } = options;
	const { bodyLimitBytes = 16 * 1024 * 1024, unreadLimits = defaultUnreadLimits } = options;
	const { requestsPerMinute } = quotas;
	const mcp = {
		sessions,
		bodies: createBodyReader({
			bytesOfOne: bodyLimitBytes,
			bytesOfAll: Math.max(bodiesAtOnce, bodyLimitBytes),
			holdsArguments: options.pool !== undefined,
		}),
		unread: createUnreadLimit(unreadLimits),
	};
	return {
		hostCheck: checkHost({ host: address.host, publicUrl }),
		publicUrl,
		routes: [
			healthRoutes(readiness),
			metadataRoutes(authentication, baseUrl),
			...(authentication
				? authenticate({ authentication, requestsPerMinute, baseUrl, log })
				: [limitRequests({ perMinute: requestsPerMinute, principalOf: () => undefined })]),
			...(metrics ? [metricsRoute(metrics)] : []),
			// The older transport cannot work without sessions.
			...(isStateless ? [statelessRoutes(mcp)] : [streamableRoutes(mcp), sseRoutes(mcp)]),
		],
		notFound: `MCP is at ${isStateless ? "/mcp (Streamable HTTP)" : "/mcp (Streamable HTTP) and /sse (HTTP+SSE)"}.`,
		log,
	};
}

/** Everybody who can reach a server that asks for no token can use it. */
function refuseStrangers({ address, publicUrl, authentication }: HttpOptions): void {
	if (authentication) return;
	const [beyond] = [address.host, publicUrl?.hostname ?? "localhost"].filter((host) => !isLoopback(host));
	if (beyond === undefined) return;
	throw new PalimpsestError(
		"invalid_argument",
		`Expected a loopback address (localhost, 127.0.0.1 or ::1), got ${JSON.stringify(beyond)}. Serving beyond this machine needs authentication: --auth-tokens FILE, PALIMPSEST_AUTH_TOKENS, or --auth-issuer URL with --auth-audience.`,
	);
}

/** Longest time for clients to read their last answers, in ms. */
const longestFlush = 3_000;

interface CloserOptions {
	readonly server: Server;
	readonly sessions: Sessions;
	/** How long closing may take, in ms: calls that still run then are stopped. */
	readonly shutdownMilliseconds: number;
	/** Called before anything else is done. */
	readonly onBegin: () => void;
}

/**
 * Makes the function that closes a server: it stops accepting, lets calls under way finish, ends every session, waits until
 * the last answer is out, and cuts off clients that do not read their answer or do not end their request. The last two
 * steps get 3 s of the time, or 3 tenths of it if that is less. Make it before the server listens, so that it knows every
 * answer. The second call of the function does nothing.
 */
function createCloser({ server, sessions, shutdownMilliseconds, onBegin }: CloserOptions): () => Promise<void> {
	const answers = new Map<ServerResponse, IncomingMessage>();
	let isClosing = false;
	let lookAgain = (): void => {};
	server.on("request", (request, response) => {
		answers.set(response, request);
		if (isClosing) response.shouldKeepAlive = false;
		response.once("close", () => {
			answers.delete(response);
			lookAgain();
		});
	});
	/** Waits until a condition holds, which is checked whenever an answer is over; until the deadline at most. */
	const until = async (holds: () => boolean, deadline: number): Promise<void> => {
		await Promise.race([
			new Promise<void>((resolve) => {
				lookAgain = () => {
					if (holds()) resolve();
				};
				lookAgain();
			}),
			atTime(deadline),
		]);
	};
	/** A stream that a client holds open ends only with its session; a request that has not arrived whole has not begun. */
	const isCall = ([, request]: [ServerResponse, IncomingMessage]) => request.method !== "GET" && request.complete;

	const close = async (): Promise<void> => {
		onBegin();
		isClosing = true;
		sessions.refuseNew();
		const ended = once(server, "close");
		server.close();
		const flush = Math.min(longestFlush, 0.3 * shutdownMilliseconds);
		const deadline = performance.now() + shutdownMilliseconds - flush;
		await until(() => ![...answers].some(isCall), deadline);
		// A call of the older transport is answered on the stream of its session, so the responses do not tell.
		await Promise.race([sessions.whenIdle(), atTime(deadline)]);
		await sessions.closeAll();
		await until(() => answers.size === 0, performance.now() + flush);
		// Node would wait for connections that are kept alive, or opened and not yet used.
		server.closeAllConnections();
		await ended;
	};
	let closed: Promise<void> | undefined;
	return () => {
		closed ??= close();
		return closed;
	};
}

/** Resolves at a time of the clock of `performance.now`. */
function atTime(deadline: number): Promise<void> {
	return pause(Math.max(0, deadline - performance.now()), undefined, { ref: false });
}
