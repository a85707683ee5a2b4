import { once } from "node:events";
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { PalimpsestError } from "../../errors.ts";
import { type Address, hostInUrl, isLoopback, listen } from "../../operations/http/address.ts";
import { mostReadAhead, paceBody } from "../../operations/http/body.ts";
import { createReadiness, type ReadinessCheck } from "../../operations/http/readiness.ts";
import { createBodyReader } from "../body.ts";
import { createUnreadLimit, type UnreadLimits } from "./answers.ts";
import { checkHost, createApplication } from "./application.ts";
import { authenticate, type Caller, metadataRoutes, tokenCaller } from "./authenticate.ts";
import { defaultQuotas, limitRequests, type Quotas } from "./limits.ts";
import { healthRoutes, type Metrics, metricsRoute } from "./monitoring.ts";
import { createSessions, type Sessions, type SessionsOptions, sseRoutes, streamableRoutes } from "./sessions.ts";

export interface HttpOptions extends SessionsOptions {
	readonly address: Address;
	readonly publicUrl?: URL | undefined;
	readonly quotas?: { readonly [quota in keyof Quotas]?: Quotas[quota] | undefined } | undefined;
	readonly bodyLimitBytes?: number | undefined;
	readonly patience?: { readonly headers: number; readonly request: number } | undefined;
	readonly unreadLimits?: UnreadLimits | undefined;
	readonly readiness?: ReadinessCheck | undefined;
	readonly metrics?: Metrics | undefined;
	readonly shutdownMilliseconds?: number | undefined;
	/** While it is not ready any more and still takes calls, for a balancer that asks. */
	readonly noticeMilliseconds?: number | undefined;
}

export type HttpService = Awaited<ReturnType<typeof serveHttp>>;

/** Longer than that of proxies (nginx 60 s, Caddy 120 s), which would otherwise send requests to closed connections. */
const keepAliveTimeout = 125_000;

/** Throws `invalid_argument` for an address beyond loopback without authentication, and for one that is in use. */
export async function serveHttp(options: HttpOptions) {
	const { address, publicUrl, authentication, metrics, isStateless = false, log } = options;
	const { bodyLimitBytes = 16 * mebibyte, shutdownMilliseconds = 10_000, readiness = createReadiness({}) } = options;
	refuseStrangers(options);
	const given = Object.entries(options.quotas ?? {}).filter(([, quota]) => quota !== undefined);
	const quotas = { ...defaultQuotas({ isAuthenticated: authentication !== undefined }), ...Object.fromEntries(given) };
	const { requestsPerMinute: perMinute } = quotas;
	const sessions = createSessions(options, quotas);
	let port = address.port;
	const ownUrl = () => `http://${hostInUrl(address.host)}:${port}`;
	const baseUrl = () => publicUrl?.origin ?? ownUrl();
	const bytesOfAll = Math.max(256 * mebibyte, bodyLimitBytes);
	const bodies = createBodyReader({ bytesOfOne: bodyLimitBytes, bytesOfAll, holdsArguments: Boolean(options.pool) });
	const mcp = { sessions, bodies, unread: createUnreadLimit(options.unreadLimits ?? unreadLimits) };
	const application = createApplication({
		hostCheck: checkHost({ host: address.host, publicUrl }),
		publicUrl,
		routes: [
			// Only these two are open to all.
			healthRoutes(readiness),
			metadataRoutes(authentication, baseUrl),
			...(authentication
				? authenticate({ authentication, perMinute, baseUrl, log })
				: [limitRequests({ perMinute, principalOf: () => undefined })]),
			...(metrics ? [metricsRoute(metrics)] : []),
			streamableRoutes(mcp, { isStateless }),
			// The older transport cannot work without sessions.
			...(isStateless ? [] : [sseRoutes(mcp)]),
		],
		notFound: `MCP is at ${isStateless ? "/mcp (Streamable HTTP)" : "/mcp (Streamable HTTP) and /sse (HTTP+SSE)"}.`,
		log,
	});
	authentication?.tokens?.onChange((tokens) => {
		const inForce = tokens.map(tokenCaller);
		const isInForce = (caller: Caller) => inForce.some((one) => isDeepStrictEqual(one, caller));
		void sessions.close((caller) => caller?.credential !== undefined && !isInForce(caller));
	});
	// Both end when a request has arrived; answers and streams may take any time.
	const { headers: headersTimeout, request: requestTimeout } = options.patience ?? { headers: 15_000, request: 60_000 };
	const connectionsCheckingInterval = Math.min(5_000, headersTimeout);
	const timeouts = { headersTimeout, requestTimeout, connectionsCheckingInterval, keepAliveTimeout };
	const server = createHttpServer({ ...timeouts, highWaterMark: mostReadAhead }, (request, response) => {
		paceBody(request);
		application(request, response);
	});
	const begin = () => readiness.beginShutdown(options.noticeMilliseconds);
	const close = createCloser({ server, sessions, shutdownMilliseconds, begin });
	port = await listen(server, address);
	return {
		url: ownUrl(),
		port,
		running: sessions.waiting,
		/**
		 * Refuses new calls, gives those under way `shutdownMilliseconds`, answers the others with an error, and ends every session.
		 * Before that, a balancer that asks for `/readyz` has time to send its requests elsewhere.
		 */
		close,
	};
}

const mebibyte = 1024 * 1024;

/** As much as on standard output: several of the largest answers. */
const unreadLimits: UnreadLimits = { bytesOfOne: 32 * mebibyte, bytesOfAll: 256 * mebibyte, stallMilliseconds: 60_000 };

function refuseStrangers({ address, publicUrl, authentication }: HttpOptions): void {
	if (authentication) return;
	const [beyond] = [address.host, publicUrl?.hostname ?? "localhost"].filter((host) => !isLoopback(host));
	if (beyond === undefined) return;
	const message = `Expected a loopback address (localhost, 127.0.0.1 or ::1), got ${JSON.stringify(beyond)}. Serving beyond this machine needs authentication: --auth-tokens FILE, PALIMPSEST_AUTH_TOKENS, or --auth-issuer URL with --auth-audience.`;
	throw new PalimpsestError("invalid_argument", message);
}

/** Make it before the server listens, so that it sees every answer. */
function createCloser(options: {
	readonly server: Server;
	readonly sessions: Sessions;
	readonly shutdownMilliseconds: number;
	readonly begin: () => Promise<void>;
}): () => Promise<void> {
	const { server, sessions, shutdownMilliseconds, begin } = options;
	const answers = new Map<ServerResponse, IncomingMessage>();
	let closed: Promise<void> | undefined;
	server.on("request", (request, response) => {
		answers.set(response, request);
		if (closed) response.shouldKeepAlive = false;
		response.once("close", () => answers.delete(response));
	});
	// A stream that a client holds open ends only with its session; a request that has not arrived has not begun.
	const isCalled = () => [...answers.values()].some(({ method, complete }) => method !== "GET" && complete);

	const close = async (): Promise<void> => {
		await begin();
		sessions.refuseNew();
		// The older transport answers on the stream of its session, so the responses alone do not tell.
		const isDone = () => !isCalled() && sessions.waiting() === 0;
		// Until then the server listens, for `/readyz` to say that it ends.
		await until(isDone, shutdownMilliseconds);
		const ended = once(server, "close");
		server.close();
		const lastReadMs = Math.min(mostLastReadMs, shutdownMilliseconds);
		const atEnd = performance.now() + lastReadMs;
		sessions.refuseWaiting();
		await until(isDone, lastReadMs / 2);
		await sessions.close();
		await until(() => answers.size === 0, atEnd - performance.now());
		// Node would wait for connections that are kept alive or not yet used.
		server.closeAllConnections();
		await ended;
	};
	return () => {
		closed ??= close();
		return closed;
	};
}

/** For clients to read their last answers. */
const mostLastReadMs = 3_000;

async function until(holds: () => boolean, milliseconds: number): Promise<void> {
	const deadline = performance.now() + milliseconds;
	while (!holds() && performance.now() < deadline) await pause(10);
}
