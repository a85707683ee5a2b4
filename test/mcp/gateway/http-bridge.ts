import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { createMcpExpressApp } from "@modelcontextprotocol/sdk/server/express.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/sdk/types.js";
import { classifyInboundRequest, PerRequestHTTPServerTransport } from "@modelcontextprotocol/server";
import type { Request as HttpRequest, Response as HttpResponse } from "express";

export interface Bridge {
	readonly url: string;
	close(): Promise<void>;
}

/** The members that the transports of both SDKs have. */
interface Link {
	onmessage?: ((message: never) => void) | undefined;
	onclose?: (() => void) | undefined;
	start(): Promise<void>;
	send(message: JSONRPCMessage, options?: { readonly relatedRequestId?: RequestId }): Promise<void>;
	close(): Promise<void>;
}

/**
 * Serves a program that speaks the protocol on standard input and output over HTTP: transports of the SDKs in front of it, which
 * pass the messages both ways. A session has a process of its own; since revision 2026-07-28 a request has one for itself as long
 * as it lasts.
 */
export async function startBridge(
	command: string,
	args: readonly string[],
	env: Record<string, string>,
): Promise<Bridge> {
	const processes = new Set<StdioClientTransport>();
	const sessions = new Map<string, StreamableHTTPServerTransport>();
	/** Those that have answered all. */
	const idle: StdioClientTransport[] = [];
	const app = createMcpExpressApp();
	app.all("/mcp", (request, response) => {
		serve(request, response).catch((error: Error) => {
			if (!response.headersSent) response.status(500);
			response.end(error.message);
		});
	});
	const server = app.listen(0, "127.0.0.1");
	await once(server, "listening");
	return {
		url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
		async close() {
			server.closeAllConnections();
			server.close();
			await Promise.all([...processes].map((one) => one.close()));
		},
	};

	async function serve(request: HttpRequest, response: HttpResponse): Promise<void> {
		const named = (name: string, header: string) => {
			const value = request.get(header);
			return value === undefined ? {} : { [`${name}Header`]: value };
		};
		const outcome = classifyInboundRequest({
			httpMethod: request.method,
			...named("protocolVersion", "mcp-protocol-version"),
			...named("mcpMethod", "mcp-method"),
			...named("mcpName", "mcp-name"),
			...(request.method === "POST" && { body: request.body }),
		});
		if (outcome.kind === "legacy") return serveSession(request, response);
		if (outcome.kind === "reject") {
			const { httpStatus, code, message, data } = outcome;
			response
				.status(httpStatus)
				.json({ jsonrpc: "2.0", id: request.body?.id ?? null, error: { code, message, data } });
			return;
		}
		const gone = new AbortController();
		response.once("close", () => gone.abort());
		const transport = new PerRequestHTTPServerTransport({ classification: outcome.classification });
		await connect(transport as Link, false);
		const asked = new Request("http://127.0.0.1/mcp", { method: "POST", signal: gone.signal });
		await answer(await transport.handleMessage(outcome.message, { request: asked }), response);
	}

	async function serveSession(request: HttpRequest, response: HttpResponse): Promise<void> {
		const known = sessions.get(request.get("mcp-session-id") ?? "");
		if (known) return known.handleRequest(request, response, request.body);
		const transport: StreamableHTTPServerTransport = new StreamableHTTPServerTransport({
			sessionIdGenerator: randomUUID,
			onsessioninitialized: (id) => void sessions.set(id, transport),
		});
		await connect(transport as Link, true);
		await transport.handleRequest(request, response, request.body);
		if (transport.sessionId === undefined) await transport.close();
	}

	/** Passes messages between what is on the other side and a process, until one of them ends. */
	async function connect(front: Link, isSession: boolean): Promise<void> {
		const used = isSession ? undefined : idle.pop();
		const back = used ?? new StdioClientTransport({ command, args: [...args], env, stderr: "ignore" });
		processes.add(back);
		const open = new Set<RequestId>();
		front.onmessage = (message: JSONRPCMessage) => {
			if ("method" in message && "id" in message) open.add(message.id);
			back.send(message).catch(() => {});
		};
		back.onmessage = (message) => {
			// On standard output no message says to which request it belongs, as it does over HTTP.
			const related = "method" in message ? [...open].at(-1) : undefined;
			if (!("method" in message) && message.id !== undefined) open.delete(message.id);
			front.send(message, related === undefined ? {} : { relatedRequestId: related }).catch(() => {});
		};
		back.onclose = () => {
			processes.delete(back);
			void front.close();
		};
		front.onclose = () => {
			if (!isSession && open.size === 0) idle.push(back);
			else void back.close();
		};
		await Promise.all([front.start(), ...(used ? [] : [back.start()])]);
	}
}

async function answer(from: Response, to: HttpResponse): Promise<void> {
	to.writeHead(from.status, Object.fromEntries(from.headers));
	if (!from.body) return void to.end();
	Readable.fromWeb(from.body as ReadableStream).pipe(to);
}
