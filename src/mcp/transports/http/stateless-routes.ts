import { randomUUID } from "node:crypto";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { type RequestHandler, Router } from "express";
import { callerOf } from "../../auth/caller.ts";
import type { BodyReader } from "./create-body-reader.ts";
import type { Sessions } from "./create-sessions.ts";
import type { UnreadLimit } from "./limit-unread.ts";
import { onlyMethods } from "./only-methods.ts";
import { refuse } from "./refuse.ts";
import { requireJson } from "./require-json.ts";
import { expectAnswers, requestIdsOf, writeEvents } from "./write-events.ts";

/** What the route is made from. */
export interface StatelessRoutesOptions {
	readonly sessions: Sessions;
	readonly bodies: BodyReader;
	readonly unread: UnreadLimit;
}

/**
 * The route of Streamable HTTP without sessions, at `/mcp`: each POST has a server of its own, which goes with its
 * answer, so that any of several processes may take it. Nothing is known of the client from one request to the next.
 */
export function statelessRoutes({ sessions, bodies, unread }: StatelessRoutesOptions): Router {
	const post: RequestHandler = async (request, response) => {
		const caller = callerOf(request);
		const early = sessions.refusalFor(caller);
		if (early) return refuse(response, early);
		const body = await bodies.read(request);
		// Asked again: others may have come while the body was read.
		const refusal = sessions.refusalFor(caller);
		if (refusal) return refuse(response, refusal);
		const transport = new StreamableHTTPServerTransport();
		writeEvents(transport, unread);
		const session = await sessions.open({ id: randomUUID(), transport, caller });
		session.hold(response);
		// Also where the client goes away: nobody else can ever get the answer.
		response.once("close", () => void session.close());
		expectAnswers(transport, requestIdsOf(body), response);
		await transport.handleRequest(request, response, body);
	};

	const router = Router();
	router.all("/mcp", onlyMethods("POST"));
	router.post("/mcp", requireJson, post);
	return router;
}
