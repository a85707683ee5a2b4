import { randomUUID } from "node:crypto";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { type Request, type RequestHandler, Router } from "express";
import type { Session, Sessions } from "./create-sessions.ts";
import { onlyMethods } from "./only-methods.ts";
import { readJsonBody } from "./read-json-body.ts";
import { refuse, tooManySessions, unknownSession } from "./refuse.ts";
import { requireJson } from "./require-json.ts";

/** The routes of Streamable HTTP, at `/mcp`: POST for messages, GET for the server's stream, DELETE to end a session. */
export function streamableRoutes(sessions: Sessions, bodyLimitBytes: number): Router {
	const post: RequestHandler = async (request, response) => {
		if (namesSession(request)) {
			const found = findSession(sessions, request);
			if (!found) return refuse(response, unknownSession);
			found.session.hold(response);
			return found.transport.handleRequest(request, response, await readJsonBody(request, bodyLimitBytes));
		}
		if (sessions.isFull()) return refuse(response, tooManySessions);
		const body = await readJsonBody(request, bodyLimitBytes);
		// Asked again: others may have come while the body was read.
		if (sessions.isFull()) return refuse(response, tooManySessions);

		const id = randomUUID();
		const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => id });
		const session = await sessions.open(id, transport);
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
	const session = sessions.find(String(request.headers["mcp-session-id"]));
	// A session of the older transport has its own way in.
	if (!(session?.transport instanceof StreamableHTTPServerTransport)) return undefined;
	return { session, transport: session.transport };
}
