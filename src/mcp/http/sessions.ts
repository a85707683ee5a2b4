import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { RequestId } from "@modelcontextprotocol/sdk/types.js";
import { type Request, type RequestHandler, type Response, Router } from "express";
import type { ArchiveLocation } from "../../archive/open.ts";
import type { ArchiveSource } from "../../config/archive.ts";
import { createServer, type ServerOptions } from "../server.ts";
import {
	createStreamableTransport,
	limitEvents,
	requestIdsOf,
	type StreamableTransport,
	type UnreadLimit,
} from "./answers.ts";
import type { BodyReader } from "./body.ts";
import { type Caller, callerOf, namespaceOfPrincipal } from "./caller.ts";
import { onlyMethods, type Refusal, refuse, requireJson } from "./guards.ts";
import { createCallLimits, idInUse, type Quotas, type WatchedCalls } from "./limits.ts";

/** The way in to a session: Streamable HTTP, or the older HTTP+SSE. */
type Entrance = StreamableTransport | { readonly transport: SSEServerTransport; readonly handle?: never };

/** One client with its own server. */
export interface Session {
	readonly entrance: Entrance;
	/** Keeps the session from being idle until a response is over, whether that is a short answer or a long stream. */
	hold(response: ServerResponse): void;
	/** Whether a request waits for its answer under this id. */
	isWaiting(id: RequestId): boolean;
	/** Ends the session: its streams, its server, its listening to the policy. */
	close(): Promise<void>;
}

/** The parts of a session. */
export interface SessionOpening {
	readonly id: string;
	readonly entrance: Entrance;
	/** The owner, who alone may use it; `undefined` if the server asks for no token. */
	readonly caller: Caller | undefined;
}

/** The sessions of one HTTP server. */
export interface Sessions {
	/** Why a caller gets no other session: a ceiling is reached, or the server is closing; else `undefined`. */
	refusalFor(caller: Caller | undefined): Refusal | undefined;
	/** A session of this caller's own. One of another principal is as unknown as one that does not exist. */
	find(id: string, caller: Caller | undefined): Session | undefined;
	/** Makes a server for a transport and connects the two. */
	open(opening: SessionOpening): Promise<Session>;
	/** The number of requests that wait for an answer. */
	waiting(): number;
	/** Resolves when none does; at once if none does now. */
	whenIdle(): Promise<void>;
	/** From now on no session is opened; those that are there stay. */
	refuseNew(): void;
	/** Ends the sessions of the callers that `isMeant` selects. */
	closeOf(isMeant: (caller: Caller) => boolean): Promise<void>;
	/** Ends every session and opens no more. */
	closeAll(): Promise<void>;
}

export interface SessionsOptions extends ServerOptions {
	/** Time without any request or open stream after which a session is closed. */
	readonly idleMilliseconds: number;
	/** Time without any request or open stream after which calls under way are stopped. Default 30 s. */
	readonly goneMilliseconds?: number | undefined;
	readonly maxSessions: number;
	readonly quotas: Quotas;
	/** The archive of a principal, if callers are told apart; else all have `archive`. */
	readonly archiveOf?: ((principal: string) => ArchiveSource | undefined) | undefined;
}

interface Owned extends Session {
	readonly caller: Caller | undefined;
}

// A longer timer fires at once.
const longestTimer = 2 ** 31 - 1;

const shuttingDown: Refusal = {
	status: 503,
	message: "The server is shutting down. Call again: another one, or this one started anew, answers.",
	headers: { "Retry-After": "1" },
};

const tooManySessions: Refusal = {
	status: 503,
	message: "No more sessions here for now. Close one that is no longer used, or try again later.",
	headers: { "Retry-After": "30" },
};

const tooManySessionsOfPrincipal: Refusal = {
	...tooManySessions,
	status: 429,
	message: "You have too many sessions here. Close one that is no longer used (DELETE), or try again later.",
};

/** Makes an empty set of sessions. */
export function createSessions(options: SessionsOptions): Sessions {
	const { log, idleMilliseconds, goneMilliseconds = 30_000, maxSessions, quotas, archiveOf } = options;
	const sessions = new Map<string, Owned>();
	const callLimits = createCallLimits(quotas, options.onCallEnd);
	let isClosing = false;

	const open: Sessions["open"] = async ({ id, entrance, caller }) => {
		// The SDK declares the optional members of its transports without `undefined`, unlike those of the interface.
		const transport = entrance.transport as Transport;
		const server = createServer({
			...options,
			ownsRequests: true,
			archive: caller && archiveOf ? archiveOf(caller.principal) : options.archive,
			...whoseCalls(options.archiveLocation, caller),
		});
		let held = 0;
		let timer: NodeJS.Timeout | undefined;
		let calls: WatchedCalls | undefined;
		const close = () => server.close();
		const restTimer = (): void => {
			clearTimeout(timer);
			if (held > 0 || !sessions.has(id)) return;
			const isWorking = (calls?.running() ?? 0) > 0;
			const rest = () => {
				if (!isWorking) return void close();
				// Nobody waits for the answers any more. In MCP a broken connection alone cancels nothing.
				calls?.stop();
				restTimer();
			};
			const milliseconds = isWorking ? Math.min(goneMilliseconds, idleMilliseconds) : idleMilliseconds;
			timer = setTimeout(rest, Math.min(milliseconds, longestTimer));
			timer.unref();
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
		// Every end of a session leads here: the server keeps this handler and adds its own.
		transport.onclose = () => {
			clearTimeout(timer);
			sessions.delete(id);
			calls?.end();
		};
		server.server.onerror = (error) =>
			log({ level: "info", message: "Bad message over HTTP", data: { event: "protocol", error: error.name } });
		const isWaiting = (requestId: RequestId) => calls?.isWaiting(requestId) ?? false;
		const session: Owned = { entrance, caller, hold, isWaiting, close };
		sessions.set(id, session);
		restTimer();
		await server.connect(transport).catch(async (error: unknown) => {
			await close();
			throw error;
		});
		calls = callLimits.watch(transport, caller?.principal ?? "");
		return session;
	};

	const closeEach = async (isMeant: (session: Owned) => boolean): Promise<void> => {
		await Promise.allSettled([...sessions.values()].filter(isMeant).map((session) => session.close()));
	};
	const refuseNew = (): void => {
		isClosing = true;
	};
	return {
		refusalFor(caller) {
			if (isClosing) return shuttingDown;
			if (sessions.size >= maxSessions) return tooManySessions;
			if (quotas.sessions === 0) return undefined;
			const own = [...sessions.values()].filter((session) => session.caller?.principal === caller?.principal);
			return own.length >= quotas.sessions ? tooManySessionsOfPrincipal : undefined;
		},
		find(id, caller) {
			const session = sessions.get(id);
			return session?.caller?.principal === caller?.principal ? session : undefined;
		},
		open,
		waiting: callLimits.waiting,
		whenIdle: callLimits.whenIdle,
		refuseNew,
		closeOf: (isMeant) => closeEach(({ caller }) => caller !== undefined && isMeant(caller)),
		async closeAll() {
			refuseNew();
			await closeEach(() => true);
		},
	};
}

/** Each principal has its own namespace within the operator's. */
function whoseCalls(location: ArchiveLocation | undefined, caller: Caller | undefined) {
	if (!caller) return { archiveLocation: location };
	const { principal } = caller;
	if (!location) return { principal };
	const namespace = namespaceOfPrincipal(location.namespace, principal);
	return { principal, archiveLocation: { ...location, namespace } };
}

/** The parts of the routes of MCP. */
export interface RoutesOptions {
	readonly sessions: Sessions;
	readonly bodies: BodyReader;
	readonly unread: UnreadLimit;
}

const unknownSession: Refusal = {
	status: 404,
	code: -32_001,
	message: "Session not found. It was closed, was idle for too long, or never was: initialize a new one.",
};

/** The routes of Streamable HTTP, at `/mcp`: POST for messages, GET for the server's stream, DELETE to end a session. */
export function streamableRoutes(options: RoutesOptions): Router {
	const { sessions, bodies } = options;
	const findSession = (request: Request): { session: Session; entrance: StreamableTransport } | undefined => {
		const session = sessions.find(String(request.headers["mcp-session-id"]), callerOf(request));
		// A session of the older transport has its own routes.
		return session?.entrance.handle && { session, entrance: session.entrance };
	};

	const post: RequestHandler = async (request, response) => {
		if (request.headers["mcp-session-id"] === undefined) {
			const id = randomUUID();
			const opened = await openStreamable(options, { request, response, id });
			if (!opened) return;
			const { session, entrance, body } = opened;
			try {
				return await entrance.handle({ request, response, body });
			} finally {
				// Without an id the request was no valid initialize: nobody can ever use this session.
				if (entrance.transport.sessionId === undefined) await session.close();
			}
		}
		const found = findSession(request);
		if (!found) return refuse(response, unknownSession);
		found.session.hold(response);
		const body = await bodies.read(request);
		const ids = requestIdsOf(body);
		// The SDK would answer the earlier request under this id on the stream of this one, or not at all.
		if (new Set(ids).size < ids.length || ids.some(found.session.isWaiting)) {
			return refuse(response, { status: 400, code: -32_600, message: `[invalid_argument] ${idInUse}` });
		}
		return found.entrance.handle({ request, response, body });
	};

	const getOrDelete: RequestHandler = async (request, response) => {
		if (request.headers["mcp-session-id"] === undefined) {
			return refuse(response, { status: 400, message: "Expected an Mcp-Session-Id header." });
		}
		const found = findSession(request);
		if (!found) return refuse(response, unknownSession);
		found.session.hold(response);
		await found.entrance.handle({ request, response });
	};

	const router = Router();
	router.all("/mcp", onlyMethods("GET", "POST", "DELETE"));
	router.post("/mcp", requireJson, post);
	router.get("/mcp", getOrDelete);
	router.delete("/mcp", getOrDelete);
	return router;
}

/**
 * The route of Streamable HTTP without sessions, at `/mcp`. Each POST has its own server, which ends with its answer, so
 * that any of several processes can take it. The server remembers nothing of the client from one request to the next.
 */
export function statelessRoutes(options: RoutesOptions): Router {
	const post: RequestHandler = async (request, response) => {
		const opened = await openStreamable(options, { request, response });
		if (!opened) return;
		const { session, entrance, body } = opened;
		// Also if the client goes away: nobody else can ever get the answer.
		response.once("close", () => void session.close());
		await entrance.handle({ request, response, body });
	};

	const router = Router();
	router.all("/mcp", onlyMethods("POST"));
	router.post("/mcp", requireJson, post);
	return router;
}

/** Opens a session for the first request of a client, or answers why not; without an id, a session for this request alone. */
async function openStreamable(
	{ sessions, bodies, unread }: RoutesOptions,
	{ request, response, id }: { readonly request: Request; readonly response: Response; readonly id?: string },
): Promise<{ session: Session; entrance: StreamableTransport; body: unknown } | undefined> {
	const caller = callerOf(request);
	const early = sessions.refusalFor(caller);
	if (early) return void refuse(response, early);
	const body = await bodies.read(request);
	// Checked again: others may have opened sessions while the body was read.
	const refusal = sessions.refusalFor(caller);
	if (refusal) return void refuse(response, refusal);
	const entrance = createStreamableTransport(unread, id);
	const session = await sessions.open({ id: id ?? randomUUID(), entrance, caller });
	session.hold(response);
	return { session, entrance, body };
}

const keepAliveMilliseconds = 15_000;

/** The routes of the older HTTP+SSE transport: `/sse` opens a session and its stream, `/messages` takes its messages. */
export function sseRoutes({ sessions, bodies, unread }: RoutesOptions): Router {
	const stream: RequestHandler = async (request, response) => {
		const caller = callerOf(request);
		const refusal = sessions.refusalFor(caller);
		if (refusal) return refuse(response, refusal);
		// Tells proxies not to hold the stream back until it ends, as the SDK's other transport does.
		response.setHeader("X-Accel-Buffering", "no");
		const transport = new SSEServerTransport("/messages", response);
		limitEvents(transport, response, unread);
		const session = await sessions.open({ id: transport.sessionId, entrance: { transport }, caller });
		session.hold(response);
		keepAlive(response);
	};

	const message: RequestHandler = async (request, response) => {
		const { entrance } = sessions.find(String(request.query.sessionId), callerOf(request)) ?? {};
		if (!entrance || entrance.handle) return refuse(response, unknownSession);
		const body = await bodies.read(request);
		try {
			// Not the SDK's handlePostMessage: it limits bodies to 4 MB and answers in plain text.
			await entrance.transport.handleMessage(body, { requestInfo: { headers: request.headers } });
		} catch {
			return refuse(response, { status: 400, code: -32_700, message: "Expected a JSON-RPC message." });
		}
		response.writeHead(202).end();
	};

	const router = Router();
	router.all("/sse", onlyMethods("GET"));
	router.get("/sse", stream);
	router.all("/messages", onlyMethods("POST"));
	router.post("/messages", requireJson, message);
	return router;
}

/** Sends a comment now and then: some clients end a stream that is silent for minutes, and their session with it. */
function keepAlive(response: Response): void {
	const timer = setInterval(() => {
		if (!response.writableEnded) response.write(": keepalive\n\n");
	}, keepAliveMilliseconds);
	timer.unref();
	response.once("close", () => clearInterval(timer));
}
