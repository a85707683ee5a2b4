import { Agent, type IncomingHttpHeaders, request } from "node:http";

/** A session by hand: the SDK's client would take most of the processor that the servers are to have. */
export interface LoadClient {
	/** Sends a message and answers with what came, a stream of events where all is well. */
	post(body: Uint8Array): Promise<LoadResponse>;
	close(): void;
}

/** A response as it came. */
export interface LoadResponse {
	readonly status: number;
	readonly body: Buffer;
}

/** Opens a session at the address of a server. */
export async function openLoadClient(url: string): Promise<LoadClient> {
	const agent = new Agent({ keepAlive: true });
	const send = (body: Uint8Array, session: Record<string, string>) =>
		new Promise<LoadResponse & { headers: IncomingHttpHeaders }>((resolve, reject) => {
			const headers = {
				"Content-Type": "application/json",
				Accept: "application/json, text/event-stream",
				"Content-Length": body.byteLength,
				...session,
			};
			const sent = request(`${url}/mcp`, { method: "POST", agent, headers }, (response) => {
				const chunks: Buffer[] = [];
				response.on("data", (chunk: Buffer) => chunks.push(chunk));
				response.on("end", () => {
					resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks), headers: response.headers });
				});
				response.on("error", reject);
			});
			sent.on("error", reject);
			sent.end(body);
		});
	const { headers } = await send(
		messageOf("initialize", {
			protocolVersion: "2025-11-25",
			capabilities: {},
			clientInfo: { name: "load", version: "1" },
		}),
		{},
	);
	const session = { "Mcp-Session-Id": String(headers["mcp-session-id"]) };
	return { post: (body) => send(body, session), close: () => agent.destroy() };
}

/** A request as bytes. */
export function messageOf(method: string, params: object): Uint8Array {
	return Buffer.from(JSON.stringify({ method, params, jsonrpc: "2.0", id: 1 }));
}

/** A tool's call as bytes, with a conversation in the very spelling of its text. */
export function callOf(name: string, conversation: string, more: object): Uint8Array {
	const rest = JSON.stringify({ name, arguments: more }).slice(0, -2);
	const comma = Object.keys(more).length === 0 ? "" : ",";
	return Buffer.from(
		`{"method":"tools/call","params":${rest}${comma}"messages":${conversation.trim()}}},"jsonrpc":"2.0","id":1}`,
	);
}
