import { Agent, type IncomingHttpHeaders, request } from "node:http";

/** A session by hand: the SDK's client would take most of the processor that the servers are to have. */
export interface LoadClient {
	/** Sends a message and answers with the stream of events as it came. */
	post(body: Uint8Array): Promise<string>;
	close(): void;
}

/** Opens a session at the address of a server. */
export async function openLoadClient(url: string): Promise<LoadClient> {
	const agent = new Agent({ keepAlive: true });
	const send = (body: Uint8Array, session: Record<string, string>) =>
		new Promise<{ text: string; headers: IncomingHttpHeaders }>((resolve, reject) => {
			const headers = {
				"Content-Type": "application/json",
				Accept: "application/json, text/event-stream",
				"Content-Length": body.byteLength,
				...session,
			};
			const sent = request(`${url}/mcp`, { method: "POST", agent, headers }, (response) => {
				const chunks: Buffer[] = [];
				response.on("data", (chunk: Buffer) => chunks.push(chunk));
				response.on("end", () => resolve({ text: Buffer.concat(chunks).toString(), headers: response.headers }));
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
	return {
		async post(body) {
			const { text } = await send(body, session);
			return text;
		},
		close: () => agent.destroy(),
	};
}

/** A request as bytes. */
export function messageOf(method: string, params: object): Uint8Array {
	return Buffer.from(JSON.stringify({ method, params, jsonrpc: "2.0", id: 1 }));
}
