import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { type McpSubscription, StreamableHTTPClientTransport as NewerTransport } from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { onTestFinished } from "vitest";
import { resolvePolicy } from "../../../src/engine/policy/layers.ts";
import type { LogEvent } from "../../../src/log.ts";
import { type HttpOptions, type HttpService, serveHttp } from "../../../src/mcp/http/server.ts";
import type { PolicySource } from "../../../src/operations/config/config.ts";
import { envelope, newerClient, revision } from "../../support/client-2026.ts";

/** The transports of the revisions with sessions, and the revision without any. */
export type Face = "Streamable HTTP" | "HTTP+SSE" | "2026-07-28";
export const faces: readonly Face[] = ["Streamable HTTP", "HTTP+SSE", "2026-07-28"];

export interface StubPolicySource extends PolicySource {
	listeners(): number;
	/** Tells every listener that the policy changed. */
	change(): void;
}

export function stubPolicySource(): StubPolicySource {
	const listeners = new Set<() => void>();
	return {
		current: () => resolvePolicy([]),
		layers: () => [],
		file: () => null,
		found: () => null,
		onChange(listener) {
			const own = () => listener(resolvePolicy([]));
			listeners.add(own);
			return () => listeners.delete(own);
		},
		close() {},
		listeners: () => listeners.size,
		change() {
			for (const listener of [...listeners]) listener();
		},
	};
}

export interface Running extends HttpService {
	readonly policySource: StubPolicySource;
	readonly logged: LogEvent[];
}

/** A server on a free port of 127.0.0.1, closed when the test is over. */
export async function start(options: Partial<HttpOptions> = {}): Promise<Running> {
	const policySource = stubPolicySource();
	const logged: LogEvent[] = [];
	const service = await serveHttp({
		address: { host: "127.0.0.1", port: 0 },
		policySource,
		log: (event) => logged.push(event),
		...options,
	});
	onTestFinished(service.close);
	return { ...service, policySource, logged };
}

export interface Connected {
	readonly client: Client;
	readonly transport: StreamableHTTPClientTransport | SSEClientTransport;
}

/** A real client, connected with its stream of notifications open. */
export async function connect(url: string, face: Face, token?: string): Promise<Connected> {
	if (face === "2026-07-28") return connectNewer(url, token);
	const client = new Client({ name: "test", version: "1" });
	let streamIsOpen = (): void => {};
	const streamOpen = new Promise<void>((resolve) => {
		streamIsOpen = resolve;
	});
	const requestInit: RequestInit = token === undefined ? {} : { headers: bearer(token) };
	const transport =
		face === "HTTP+SSE"
			? new SSEClientTransport(new URL(`${url}/sse`), { requestInit })
			: new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
					requestInit,
					async fetch(target, init) {
						const response = await fetch(target, init);
						if (init?.method === "GET") streamIsOpen();
						return response;
					},
				});
	await client.connect(transport as Transport);
	if (face === "Streamable HTTP") await streamOpen;
	onTestFinished(() => client.close());
	return { client, transport };
}

/** A client of the newer SDK, with the calls that tests make of the older one's. */
async function connectNewer(url: string, token?: string): Promise<Connected> {
	const requestInit: RequestInit = token === undefined ? {} : { headers: bearer(token) };
	const transport = new NewerTransport(new URL(`${url}/mcp`), { requestInit });
	const newer = newerClient();
	await newer.connect(transport);
	onTestFinished(() => newer.close());
	let listening: McpSubscription | undefined;
	const client = {
		callTool: (params: Parameters<typeof newer.callTool>[0], _schema: undefined, options?: object) =>
			newer.callTool(params, options),
		// This era has no pings. Any request will do that is no call, and whose answer the client does not keep.
		ping: () => newer.complete({ ref: { type: "ref/prompt", name: "compact" }, argument: { name: "keep", value: "" } }),
		listTools: () => newer.listTools(),
		readResource: (params: { uri: string }) => newer.readResource(params),
		getServerVersion: () => newer.getServerVersion(),
		setNotificationHandler: (
			schema: { shape: { method: { value: "notifications/resources/updated" } } },
			handler: never,
		) => newer.setNotificationHandler(schema.shape.method.value, handler),
		async subscribeResource({ uri }: { uri: string }) {
			listening = await newer.listen({ resourceSubscriptions: [uri] });
		},
		unsubscribeResource: () => listening?.close(),
		close: () => newer.close(),
	};
	return { client: client as unknown as Client, transport: transport as unknown as Connected["transport"] };
}

/** The headers and the body of a request of that era, by hand. */
export function newerRequest(method: string, params: Readonly<Record<string, unknown>> = {}, id: number | string = 1) {
	const name = params.name ?? params.uri;
	const headers = {
		...jsonHeaders,
		"MCP-Protocol-Version": revision,
		"Mcp-Method": method,
		...(typeof name === "string" && { "Mcp-Name": name }),
	};
	const body = JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, ...envelope } });
	return { method: "POST", headers, body };
}

export interface RawRequest {
	readonly method?: string;
	readonly headers?: Readonly<Record<string, string>>;
	/** Sent as one body with Content-Length, or in chunks where it is a list. */
	readonly body?: string | readonly string[];
	/** Answer as soon as the head is there, and leave the stream. */
	readonly headOnly?: boolean;
}

export interface RawAnswer {
	readonly status: number;
	readonly headers: IncomingHttpHeaders;
	readonly text: string;
}

/** A request with any header, Host and Origin too, that `fetch` would not send. */
export function send(url: string, { method = "GET", headers, body, headOnly }: RawRequest = {}): Promise<RawAnswer> {
	return new Promise((resolve, reject) => {
		const request = httpRequest(url, { method, headers: { ...headers }, agent: false }, (response) => {
			const head = { status: response.statusCode ?? 0, headers: response.headers };
			if (headOnly) {
				response.destroy();
				return resolve({ ...head, text: "" });
			}
			let text = "";
			response.setEncoding("utf8");
			response.on("data", (piece: string) => {
				text += piece;
			});
			response.on("end", () => resolve({ ...head, text }));
			response.on("error", reject);
		});
		request.on("error", reject);
		if (Array.isArray(body)) for (const piece of body) request.write(piece);
		request.end(typeof body === "string" ? body : undefined);
	});
}

export const jsonHeaders = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };

export const initialize = JSON.stringify({
	jsonrpc: "2.0",
	id: 1,
	method: "initialize",
	params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } },
});

export const ping = JSON.stringify({ jsonrpc: "2.0", id: 2, method: "ping" });

/** The header of a bearer token. */
export function bearer(token: string): Record<string, string> {
	return { Authorization: `Bearer ${token}` };
}

/** Opens a session by hand and answers with its id. */
export async function openSession(url: string, more: Readonly<Record<string, string>> = {}): Promise<string> {
	const { headers } = await send(`${url}/mcp`, {
		method: "POST",
		headers: { ...jsonHeaders, ...more },
		body: initialize,
	});
	return String(headers["mcp-session-id"]);
}

/** A chat in OpenAI's format with as many tool turns, each result 400 characters long. */
export function chat(turns: number): unknown[] {
	const messages: unknown[] = [{ role: "user", content: "Find the bug." }];
	for (let turn = 0; turn < turns; turn += 1) {
		const id = `call_${turn}`;
		messages.push(
			{
				role: "assistant",
				content: null,
				tool_calls: [{ id, type: "function", function: { name: "read", arguments: `{"n":${turn}}` } }],
			},
			{ role: "tool", tool_call_id: id, content: `line ${turn} `.repeat(50) },
		);
	}
	return messages;
}
