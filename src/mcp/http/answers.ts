import type { IncomingMessage, ServerResponse } from "node:http";
import type { AuthInfo } from "@modelcontextprotocol/sdk/server/auth/types.js";
import type { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { isJSONRPCRequest, type JSONRPCMessage, type RequestId } from "@modelcontextprotocol/sdk/types.js";

interface Outlet {
	readonly writableLength: number;
	destroy(): unknown;
}

export type UnreadLimits = Readonly<Record<"bytesOfOne" | "bytesOfAll" | "stallMilliseconds", number>>;

export type UnreadLimit = ReturnType<typeof createUnreadLimit>;

/** Cuts off clients that read nothing for too long or are over their limit, and the slowest if all are over theirs. */
export function createUnreadLimit({ bytesOfOne, bytesOfAll, stallMilliseconds }: UnreadLimits) {
	/** Outlets with unread bytes, in the order in which their clients last read something. */
	const watched = new Map<Outlet, { unread: number; readonly readAt: number }>();
	let timer: NodeJS.Timeout | undefined;

	const look = (outlet: Outlet): number => {
		const unread = outlet.writableLength;
		const known = watched.get(outlet);
		if (unread > 0 && known && unread >= known.unread) known.unread = unread;
		else {
			watched.delete(outlet);
			if (unread > 0) watched.set(outlet, { unread, readAt: performance.now() });
		}
		return unread;
	};
	const lookAtAll = (): number => [...watched.keys()].reduce((sum, outlet) => sum + look(outlet), 0);
	const cut = (outlet: Outlet): void => {
		watched.delete(outlet);
		outlet.destroy();
	};
	const sweep = (): void => {
		lookAtAll();
		const since = performance.now() - stallMilliseconds;
		for (const [outlet, { readAt }] of [...watched]) if (readAt <= since) cut(outlet);
		if (watched.size > 0) return;
		clearInterval(timer);
		timer = undefined;
	};

	return {
		written(outlet: Outlet) {
			if (look(outlet) > bytesOfOne) return cut(outlet);
			while (lookAtAll() > bytesOfAll) {
				const [slowest] = watched.keys();
				if (slowest) cut(slowest);
			}
			if (watched.size > 0) timer ??= setInterval(sweep, Math.min(5_000, stallMilliseconds / 4)).unref();
		},
		bytes: lookAtAll,
		size: () => watched.size,
	};
}

export type StreamableTransport = ReturnType<typeof createStreamableTransport>;

/**
 * Without an id, for one request only. Unread bytes are limited. There is no event store: calls change nothing, so a
 * client that lost its stream calls again.
 */
export function createStreamableTransport(unread: UnreadLimit, id?: string) {
	const options = id === undefined ? {} : { sessionIdGenerator: () => id };
	const transport = new WebStandardStreamableHTTPServerTransport(options);

	return {
		transport,
		async handle(exchange: {
			readonly request: IncomingMessage & { readonly auth?: AuthInfo | undefined };
			readonly response: ServerResponse;
			readonly body?: unknown;
		}): Promise<void> {
			const { request, response, body } = exchange;
			const { auth } = request;
			const given = { ...(body !== undefined && { parsedBody: body }), ...(auth && { authInfo: auth }) };
			await writeAnswer(await transport.handleRequest(webRequest(request), given), { response, unread });
		},
	};
}

/** The head of a request as the SDKs take it. Its body is read by then. */
export function webRequest({ method = "GET", headers }: IncomingMessage, signal?: AbortSignal): Request {
	const pairs = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]);
	return new Request("http://localhost/mcp", { method, headers: pairs, ...(signal && { signal }) });
}

export function requestIds(body: unknown): readonly RequestId[] {
	return (Array.isArray(body) ? body : [body]).filter((message) => isJSONRPCRequest(message)).map(({ id }) => id);
}

export async function writeAnswer(
	answer: Response,
	to: { readonly response: ServerResponse; readonly unread: UnreadLimit },
): Promise<void> {
	const { response, unread } = to;
	const headers = Object.fromEntries(answer.headers);
	if (!answer.body || !headers["content-type"]?.startsWith("text/event-stream")) {
		const bytes = new Uint8Array(await answer.arrayBuffer());
		response.writeHead(answer.status, { ...headers, "Content-Length": bytes.length });
		writeInPieces(response, unread, bytes);
		response.end();
		return;
	}
	const reader = answer.body.getReader();
	const leave = () => void reader.cancel().catch(() => {});
	if (response.closed) return leave();
	response.once("close", leave);
	response.writeHead(answer.status, headers).flushHeaders();
	// Each event is written at once, so that unread bytes wait in the response and not in the SDK's stream.
	for (let read = await reader.read(); !read.done && !response.destroyed; read = await reader.read()) {
		writeInPieces(response, unread, read.value);
	}
	response.end();
}

/** Makes the older transport, which has one stream, write by the same rules. */
export function limitEvents(transport: SSEServerTransport, response: ServerResponse, unread: UnreadLimit): void {
	transport.send = async (message: JSONRPCMessage) => {
		if (response.destroyed || response.writableEnded) throw new Error("Not connected");
		writeInPieces(response, unread, Buffer.from(`event: message\ndata: ${JSON.stringify(message)}\n\n`));
	};
}

/** Large answers are written in pieces, so that the limit notices a slow client that reads. */
const pieceBytes = 64 * 1024;

function writeInPieces(response: ServerResponse, unread: UnreadLimit, bytes: Uint8Array): void {
	for (let at = 0; at < bytes.length; at += pieceBytes) response.write(bytes.subarray(at, at + pieceBytes));
	unread.written(response);
}
