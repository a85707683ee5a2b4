import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { type RequestHandler, type Response, Router } from "express";
import type { Sessions } from "./create-sessions.ts";
import { onlyMethods } from "./only-methods.ts";
import { readJsonBody } from "./read-json-body.ts";
import { refuse, tooManySessions, unknownSession } from "./refuse.ts";
import { requireJson } from "./require-json.ts";

const keepAliveMilliseconds = 15_000;

/** The routes of the older HTTP+SSE transport: `/sse` opens a session and its stream, `/messages` takes its messages. */
export function sseRoutes(sessions: Sessions, bodyLimitBytes: number): Router {
	const stream: RequestHandler = async (_request, response) => {
		if (sessions.isFull()) return refuse(response, tooManySessions);
		const transport = new SSEServerTransport("/messages", response);
		const session = await sessions.open(transport.sessionId, transport);
		session.hold(response);
		keepAlive(response);
	};

	const message: RequestHandler = async (request, response) => {
		const session = sessions.find(String(request.query.sessionId));
		if (!(session?.transport instanceof SSEServerTransport)) return refuse(response, unknownSession);
		const body = await readJsonBody(request, bodyLimitBytes);
		try {
			// Not the SDK's handlePostMessage, which caps bodies at 4 MB and answers in plain text.
			await session.transport.handleMessage(body, { requestInfo: { headers: request.headers } });
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

/** Sends a comment now and then, since some clients end a stream that is silent for minutes, and their session with it. */
function keepAlive(response: Response): void {
	const timer = setInterval(() => {
		if (!response.writableEnded) response.write(": keepalive\n\n");
	}, keepAliveMilliseconds);
	timer.unref();
	response.once("close", () => clearInterval(timer));
}
