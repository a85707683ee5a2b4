import { randomUUID } from "node:crypto";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { type Request, type RequestHandler, Router } from "express";
import { callerOf } from "../../auth/caller.ts";
import type { BodyReader } from "./create-body-reader.ts";
import type { Session, Sessions } from "./create-sessions.ts";
import type { UnreadLimit } from "./limit-unread.ts";
import { onlyMethods } from "./only-methods.ts";
import { idInUseRefusal, refuse, unknownSession } from "./refuse.ts";
import { requireJson } from "./require-json.ts";
import { expectAnswers, requestIdsOf, writeEvents } from "./write-events.ts";

/** What the routes of Streamable HTTP are made from. */
export interface StreamableRoutesOptions {
	readonly sessions: Sessions;
	readonly bodies: BodyReader;
	readonly unread: UnreadLimit;
}

/** The routes of Streamable HTTP, at `/mcp`: POST for messages, GET for the server's stream, DELETE to end a session. */
export function streamableRoutes({ sessions, bodies, unread }: StreamableRoutesOptions): Router {
	const post: RequestHandler = async (request, response) => {
		if (namesSession(request)) {
			const found = findSession(sessions, request);
			if (!found) return refuse(response, unknownSession);
			found.session.hold(response);
			const body = await bodies.read(request);
			const ids = requestIdsOf(body);
			// The SDK would answer the request that had the id before on the stream of this one, or not at all.
			if (new Set(ids).size < ids.length || ids.some(found.session.isWaiting)) return refuse(response, idInUseRefusal);
			expectAnswers(found.transport, ids, response);
			return found.transport.handleRequest(request, response, body);
		}
		const caller = callerOf(request);
		const early = sessions.refusalFor(caller);
		if (early) return refuse(response, early);
		const body = await bodies.read(request);
		// Asked again: others may have come while the body was read.
		const refusal = sessions.refusalFor(caller);
		if (refusal) return refuse(response, refusal);

		const id = randomUUID();
		// Without an event store: calls change nothing, so a client that lost its stream asks again.
		const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => id });
		writeEvents(transport, unread);
		const session = await sessions.open({ id, transport, caller });
		session.hold(response);
		try {
			await transport.handleRequest(request, response, body);
		} finally {
			// Without an id it was no valid initialize request: nobody can ever come back to this session.
			if (transport.sessionId === undefined) await session.close();
		}
	};

	const getOrDelete: RequestHandler = async (request, response) => {
		if (!namesSession(request)) return refuse(response, { status: 400, message: "Expected an Mcp-Session-Id header." });
		const found = findSession(sessions, request);
		if (!found) return refuse(response, unknownSession);
		found.session.hold(response);
		await found.transport.handleRequest(request, response);
	};

	const router = Router();
	router.all("/mcp", onlyMethods("GET", "POST", "DELETE"));
	router.post("/mcp", requireJson, post);
	router.get("/mcp", getOrDelete);
	router.delete("/mcp", getOrDelete);
	return router;
}

function namesSession(request: Request): boolean {
	return request.headers["mcp-session-id"] !== undefined;
}

function findSession(
	sessions: Sessions,
	request: Request,
): { session: Session; transport: StreamableHTTPServerTransport } | undefined {
	const session = sessions.find(String(request.headers["mcp-session-id"]), callerOf(request));
	// A session of the older transport has its own way in.
	if (!(session?.transport instanceof StreamableHTTPServerTransport)) return undefined;
	return { session, transport: session.transport };
}
