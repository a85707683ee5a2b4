import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { type RequestHandler, type Response, Router } from "express";
import { callerOf } from "../../auth/caller.ts";
import type { BodyReader } from "./create-body-reader.ts";
import type { Sessions } from "./create-sessions.ts";
import type { UnreadLimit } from "./limit-unread.ts";
import { onlyMethods } from "./only-methods.ts";
import { refuse, unknownSession } from "./refuse.ts";
import { requireJson } from "./require-json.ts";
import { writeEventsTo } from "./write-events.ts";

const keepAliveMilliseconds = 15_000;

/** What the routes are made from. */
export interface SseRoutesOptions {
	readonly sessions: Sessions;
	readonly bodies: BodyReader;
	readonly unread: UnreadLimit;
}

/** The routes of the older HTTP+SSE transport: `/sse` opens a session and its stream, `/messages` takes its messages. */
export function sseRoutes({ sessions, bodies, unread }: SseRoutesOptions): Router {
	const stream: RequestHandler = async (request, response) => {
		const caller = callerOf(request);
		const refusal = sessions.refusalFor(caller);
		if (refusal) return refuse(response, refusal);
		// As the SDK's other transport says to proxies that would keep the stream until it ends.
		response.setHeader("X-Accel-Buffering", "no");
		const transport = new SSEServerTransport("/messages", response);
		writeEventsTo(response, transport, unread);
		const session = await sessions.open({ id: transport.sessionId, transport, caller });
		session.hold(response);
		keepAlive(response);
	};

	const message: RequestHandler = async (request, response) => {
		const session = sessions.find(String(request.query.sessionId), callerOf(request));
		if (!(session?.transport instanceof SSEServerTransport)) return refuse(response, unknownSession);
		const body = await bodies.read(request);
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
