import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AuthInfo } from "@modelcontextprotocol/sdk/server/auth/types.js";
import type { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { isJSONRPCRequest, type JSONRPCMessage, type RequestId } from "@modelcontextprotocol/sdk/types.js";
import { rawMessage } from "../answer.ts";

export interface Outlet {
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

/** Answers that are JSON already, by the marks that an SDK sends in their place. */
export type RawAnswers = Map<string, Uint8Array>;

/** The SDKs write JSON only from objects: they write a mark, and `writeAnswer` replaces that by the bytes. */
export function markRawAnswers(transport: Pick<Transport, "send">, rawOf: (id: RequestId) => RawAnswers | undefined) {
	const send = transport.send.bind(transport);
	transport.send = (message, options) => {
		const bytes = rawMessage(message);
		if (!bytes || !("id" in message) || message.id === undefined) return send(message, options);
		const mark = randomUUID();
		rawOf(message.id)?.set(mark, bytes);
		return send({ jsonrpc: "2.0", id: message.id, result: { mark } }, options);
	};
}

/**
 * Without an id, for one request only. JSON text is sent unchanged, and unread bytes are limited. There is no event
 * store: calls change nothing, so a client that lost its stream calls again.
 */
export function createStreamableTransport(unread: UnreadLimit, id?: string) {
	const options = id === undefined ? {} : { sessionIdGenerator: () => id };
	const transport = new WebStandardStreamableHTTPServerTransport(options);
	const answers = new Map<RequestId, RawAnswers>();
	markRawAnswers(transport, (one) => answers.get(one));

	return {
		transport,
		async handle(exchange: {
			readonly request: IncomingMessage & { readonly auth?: AuthInfo | undefined };
			readonly response: ServerResponse;
			readonly body?: unknown;
		}): Promise<void> {
			const { request, response, body } = exchange;
			const raw: RawAnswers = new Map();
			const ids = requestIds(body);
			for (const one of ids) answers.set(one, raw);
			response.once("close", () => {
				for (const one of ids) if (answers.get(one) === raw) answers.delete(one);
			});
			const { auth } = request;
			const given = { ...(body !== undefined && { parsedBody: body }), ...(auth && { authInfo: auth }) };
			await writeAnswer(await transport.handleRequest(webRequest(request), given), { response, raw, unread });
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
	to: { readonly response: ServerResponse; readonly raw: RawAnswers; readonly unread: UnreadLimit },
): Promise<void> {
	const { response, raw, unread } = to;
	const headers = Object.fromEntries(answer.headers);
	if (!answer.body || !headers["content-type"]?.startsWith("text/event-stream")) {
		const text = new Uint8Array(await answer.arrayBuffer());
		const bytes = markedAnswer(text, raw) ?? text;
		response.writeHead(answer.status, { ...headers, "Content-Length": bytes.length });
		writeInPieces(response, unread, [bytes]);
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
		const bytes = markedAnswer(read.value, raw);
		writeInPieces(response, unread, bytes ? [eventHead, bytes, eventEnd] : [read.value]);
	}
	response.end();
}

/** The bytes that replace a marked answer. No client can guess a mark. */
function markedAnswer(event: Uint8Array, raw: RawAnswers): Uint8Array | undefined {
	if (raw.size === 0) return undefined;
	const mark = /"mark":"([^"]+)"\}\}\s*$/.exec(Buffer.from(event.subarray(-64)).toString())?.[1] ?? "";
	const bytes = raw.get(mark);
	raw.delete(mark);
	return bytes;
}

/** Makes the older transport, which has one stream, write by the same rules. */
export function limitEvents(transport: SSEServerTransport, response: ServerResponse, unread: UnreadLimit): void {
	transport.send = async (message: JSONRPCMessage) => {
		if (response.destroyed || response.writableEnded) throw new Error("Not connected");
		const raw = rawMessage(message);
		const parts = [eventHead, raw ?? Buffer.from(JSON.stringify(message)), eventEnd];
		writeInPieces(response, unread, raw ? parts : [Buffer.concat(parts)]);
	};
}

const [eventHead, eventEnd] = [Buffer.from("event: message\ndata: "), Buffer.from("\n\n")];

/** Large answers are written in pieces, so that the limit notices a slow client that reads. */
const pieceBytes = 64 * 1024;

function writeInPieces(response: ServerResponse, unread: UnreadLimit, parts: readonly Uint8Array[]): void {
	for (const part of parts) {
		for (let at = 0; at < part.length; at += pieceBytes) response.write(part.subarray(at, at + pieceBytes));
	}
	unread.written(response);
}
