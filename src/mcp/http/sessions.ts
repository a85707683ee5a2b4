import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { RequestId } from "@modelcontextprotocol/sdk/types.js";
import { type Request, type RequestHandler, type Response, Router } from "express";
import { type ArchiveSource, locationOfPrincipal } from "../../storage/archive/open.ts";
import { type BodyReader, headerNamesRevision, namesRevision } from "../body.ts";
import type { ServerOptions } from "../offer.ts";
import { createServer } from "../server.ts";
import {
	createStreamableTransport,
	limitEvents,
	requestIds,
	type StreamableTransport,
	type UnreadLimit,
} from "./answers.ts";
import { onlyMethods, type Refusal, refuse, requireJson } from "./application.ts";
import { type Authentication, type Caller, requestCaller } from "./authenticate.ts";
import { createCallLimits, idInUse, longestTimer, type Quotas, type WatchedCalls } from "./limits.ts";
import type { Requests2026 } from "./requests-2026.ts";

export interface SessionsOptions
	extends Omit<ServerOptions, "clientGone" | "onlyAnswers" | "principal" | "sharesFiles"> {
	readonly authentication?: Authentication | undefined;
	/** The archive of a principal. With authentication it replaces `archive`. */
	readonly archiveOf?: ((principal: string) => ArchiveSource | undefined) | undefined;
	/** Whether each request is independent, for several processes behind a balancer. */
	readonly isStateless?: boolean | undefined;
	/** Time without a request or open stream after which a session is closed. Default 30 minutes. */
	readonly idleMilliseconds?: number | undefined;
	/** Time without a request or open stream after which the calls of a session are stopped. Default 30 s. */
	readonly goneMilliseconds?: number | undefined;
	readonly maxSessions?: number | undefined;
	/** Signs the states of calls, which several processes behind a balancer share; 32 bytes or more. */
	readonly stateKey?: string | undefined;
}

/** Streamable HTTP, or the older HTTP+SSE, whose requests have routes of their own. */
type Entrance = StreamableTransport | { readonly transport: SSEServerTransport; readonly handle?: never };

interface Session {
	readonly entrance: Entrance;
	readonly caller: Caller | undefined;
	/** Keeps the session from being idle until a response ends. */
	hold(response: ServerResponse): void;
	isWaiting(id: RequestId): boolean;
	close(): Promise<void>;
}

const refusals = {
	closing: {
		status: 503,
		message: "The server is shutting down. Call again: another server, or this one after its restart, answers.",
		headers: { "Retry-After": "1" },
	},
	tooMany: {
		status: 503,
		message: "No more sessions here for now. Close one that is no longer used, or try again later.",
		headers: { "Retry-After": "30" },
	},
	tooManyOfPrincipal: {
		status: 429,
		message: "You have too many sessions here. Close one that is no longer used (DELETE), or try again later.",
		headers: { "Retry-After": "30" },
	},
	unknown: {
		status: 404,
		code: -32_001,
		message: "Session not found. It was closed, was idle for too long, or never was: initialize a new one.",
	},
} as const satisfies Readonly<Record<string, Refusal>>;

export type Sessions = ReturnType<typeof createSessions>;

export function createSessions(options: SessionsOptions, quotas: Quotas) {
	const { log, authentication, archive, archiveOf, archiveLocation, maxSessions = 1_000 } = options;
	const { idleMilliseconds = 30 * 60_000, goneMilliseconds = 30_000 } = options;
	const sessions = new Map<string, Session>();
	const callLimits = createCallLimits(quotas, options.onCallEnd);
	let isClosing = false;

	/** Independent requests. Each counts as a session while it lasts. */
	const alone = new Set<Pick<Session, "caller" | "close">>();
	let requests2026: Promise<Requests2026> | undefined;

	const optionsOf = (caller: Caller | undefined): ServerOptions => {
		const principal = caller?.principal;
		const isOwn = principal !== undefined && archiveLocation !== undefined;
		return {
			...options,
			// Clients over HTTP may run on other machines.
			sharesFiles: false,
			onlyAnswers: options.isStateless,
			// With authentication no client gets the operator's own archive.
			archive: authentication ? caller && archiveOf?.(caller.principal) : archive,
			archiveLocation: isOwn ? locationOfPrincipal(archiveLocation, principal) : archiveLocation,
			principal,
		};
	};
	const onerror = ({ name }: Error) =>
		log({ level: "info", message: "Bad message over HTTP", data: { event: "protocol", error: name } });
	const open = async (id: string, entrance: Entrance, caller: Caller | undefined): Promise<Session> => {
		// The SDK declares the optional members of its transports without `undefined`, unlike those of the interface.
		const transport = entrance.transport as Transport;
		const server = createServer(optionsOf(caller));
		let held = 0;
		let timer: NodeJS.Timeout | undefined;
		let calls: WatchedCalls | undefined;
		const close = () => server.close();
		const restTimer = (): void => {
			clearTimeout(timer);
			if (held > 0 || !sessions.has(id)) return;
			const isWorking = calls?.isRunning();
			const rest = () => {
				if (!isWorking) return void close();
				// No client waits for the answers. In MCP a broken connection alone cancels nothing.
				calls?.stop();
				restTimer();
			};
			const milliseconds = isWorking ? Math.min(goneMilliseconds, idleMilliseconds) : idleMilliseconds;
			timer = setTimeout(rest, Math.min(milliseconds, longestTimer)).unref();
		};
		const hold = (response: ServerResponse): void => {
			if (response.closed) return;
			held += 1;
			clearTimeout(timer);
			response.once("close", () => {
				held -= 1;
				restTimer();
			});
		};
		transport.onclose = () => {
			clearTimeout(timer);
			sessions.delete(id);
			calls?.end();
		};
		server.server.onerror = onerror;
		const isWaiting = (requestId: RequestId) => calls?.isWaiting(requestId) ?? false;
		const session: Session = { entrance, caller, hold, isWaiting, close };
		sessions.set(id, session);
		restTimer();
		await server.connect(transport).catch((error: unknown) => close().then(() => Promise.reject(error)));
		calls = callLimits.watch(transport, caller?.principal ?? "");
		return session;
	};

	return {
		/** Whether a caller gets another session; refuses the request otherwise. */
		admits(caller: Caller | undefined, response: ServerResponse): boolean {
			const all = [...sessions.values(), ...alone];
			const own = all.filter((session) => session.caller?.principal === caller?.principal);
			if (isClosing) refuse(response, refusals.closing);
			else if (all.length >= maxSessions) refuse(response, refusals.tooMany);
			else if (quotas.sessions > 0 && own.length >= quotas.sessions) refuse(response, refusals.tooManyOfPrincipal);
			else return true;
			return false;
		},
		/** A session of another principal is as unknown as one that does not exist. */
		find(id: string, caller: Caller | undefined): Session | undefined {
			const session = sessions.get(id);
			return session?.caller?.principal === caller?.principal ? session : undefined;
		},
		open,
		/** Answers a request of the era without sessions, whose SDK is loaded by the first one. */
		async answer(exchange: Omit<Parameters<Requests2026["handle"]>[0], "gone">): Promise<void> {
			const { request, response } = exchange;
			const gone = new AbortController();
			const own = { caller: requestCaller(request), close: async () => void response.destroy() };
			alone.add(own);
			response.once("close", () => {
				alone.delete(own);
				gone.abort();
			});
			requests2026 ??= import("./requests-2026.ts").then(({ createRequests2026 }) => {
				const { stateKey, policySource } = options;
				return createRequests2026({ optionsOf, callLimits, stateKey, onerror, onListening: policySource.onChange });
			});
			await (await requests2026).handle({ ...exchange, gone: gone.signal });
		},
		waiting: callLimits.waiting,
		refuseWaiting: callLimits.refuseWaiting,
		/** Whether a message may be taken: while the server ends, no more calls, but answers and notices for those that run. */
		takes(body: unknown): boolean {
			return !isClosing || requestIds(body).length === 0;
		},
		refuseNew(): void {
			isClosing = true;
			// A client may hold a stream of news open for ever.
			void requests2026?.then(({ endStreams }) => endStreams());
		},
		async close(isMeant: (caller: Caller | undefined) => boolean = () => true): Promise<void> {
			const meant = [...sessions.values(), ...alone].filter(({ caller }) => isMeant(caller));
			if (isClosing) await requests2026?.then(({ close }) => close());
			await Promise.allSettled(meant.map((session) => session.close()));
		},
	};
}

interface RoutesOptions {
	readonly sessions: Sessions;
	readonly bodies: BodyReader;
	readonly unread: UnreadLimit;
}

export function streamableRoutes(parts: RoutesOptions, { isStateless }: { readonly isStateless: boolean }): Router {
	const { sessions, bodies, unread } = parts;
	const findSession = (request: Request, response: Response) => {
		const session = sessions.find(String(request.headers["mcp-session-id"]), requestCaller(request));
		// A session of the older transport has its own routes.
		if (!session?.entrance.handle) return void refuse(response, refusals.unknown);
		session.hold(response);
		return { isWaiting: session.isWaiting, handle: session.entrance.handle };
	};
	const open = async (request: Request, response: Response): Promise<void> => {
		const caller = requestCaller(request);
		if (!sessions.admits(caller, response)) return;
		const body = await bodies.read(request);
		// Others may have opened sessions while the body was read.
		if (!sessions.admits(caller, response)) return;
		if (isNewer(request) || namesRevision(body)) return sessions.answer({ request, response, body, unread });
		const id = randomUUID();
		const entrance = createStreamableTransport(unread, isStateless ? undefined : id);
		const session = await sessions.open(id, entrance, caller);
		session.hold(response);
		// Also if the client leaves: no other client can get the answer.
		if (isStateless) response.once("close", () => void session.close());
		await entrance.handle({ request, response, body }).finally(() => {
			// Without an id the request was not a valid initialize: no client can ever use this session.
			if (!isStateless && entrance.transport.sessionId === undefined) return session.close();
		});
	};
	const isNewer = ({ headers }: Request) => headerNamesRevision(headers["mcp-protocol-version"]);
	const post: RequestHandler = async (request, response) => {
		const hasSession = !isStateless && request.headers["mcp-session-id"] !== undefined;
		if (!hasSession || isNewer(request)) return open(request, response);
		const found = findSession(request, response);
		if (!found) return;
		const body = await bodies.read(request);
		const ids = requestIds(body);
		// The SDK would answer the earlier request under this id on the stream of this one, or not at all.
		if (new Set(ids).size < ids.length || ids.some(found.isWaiting)) {
			return refuse(response, { status: 400, code: -32_600, message: `[invalid_argument] ${idInUse}` });
		}
		if (!sessions.takes(body)) return refuse(response, refusals.closing);
		return found.handle({ request, response, body });
	};
	const getOrDelete: RequestHandler = async (request, response) => {
		if (request.headers["mcp-session-id"] === undefined) {
			return refuse(response, { status: 400, message: "Expected an Mcp-Session-Id header." });
		}
		await findSession(request, response)?.handle({ request, response });
	};

	const router = Router();
	const only = isStateless ? onlyMethods("POST") : onlyMethods("GET", "POST", "DELETE");
	router.route("/mcp").all(only).post(requireJson, post).get(getOrDelete).delete(getOrDelete);
	return router;
}

export function sseRoutes({ sessions, bodies, unread }: RoutesOptions): Router {
	const stream: RequestHandler = async (request, response) => {
		const caller = requestCaller(request);
		if (!sessions.admits(caller, response)) return;
		// Proxies must not hold the stream back until it ends.
		response.setHeader("X-Accel-Buffering", "no");
		const transport = new SSEServerTransport("/messages", response);
		limitEvents(transport, response, unread);
		const session = await sessions.open(transport.sessionId, { transport }, caller);
		session.hold(response);
		// Some clients close a stream that is silent for minutes, and with it their session.
		const comment = () => !response.writableEnded && response.write(": keepalive\n\n");
		const timer = setInterval(comment, 15_000).unref();
		response.once("close", () => clearInterval(timer));
	};
	const message: RequestHandler = async (request, response) => {
		const { entrance } = sessions.find(String(request.query.sessionId), requestCaller(request)) ?? {};
		if (!entrance || entrance.handle) return refuse(response, refusals.unknown);
		const body = await bodies.read(request);
		if (!sessions.takes(body)) return refuse(response, refusals.closing);
		try {
			// Not the SDK's handlePostMessage: it limits bodies to 4 MB and answers in plain text.
			await entrance.transport.handleMessage(body, { requestInfo: { headers: request.headers } });
		} catch {
			return refuse(response, { status: 400, code: -32_700, message: "Expected a JSON-RPC message." });
		}
		response.writeHead(202).end();
	};

	const router = Router();
	router.route("/sse").all(onlyMethods("GET")).get(stream);
	router.route("/messages").all(onlyMethods("POST")).post(requireJson, message);
	return router;
}
