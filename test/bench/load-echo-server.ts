import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { z } from "zod";

// The least that an MCP server over HTTP can do with a conversation: tools of the SDK that give it back.
const sessions = new Map<string, StreamableHTTPServerTransport>();

const inputSchema = { messages: z.unknown(), context_window: z.int().optional(), respond_with: z.string().optional() };

async function open(): Promise<StreamableHTTPServerTransport> {
	const id = randomUUID();
	const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => id });
	const server = new McpServer({ name: "echo", version: "1.0.0" });
	for (const tool of ["mask_conversation", "guard_context"]) {
		server.registerTool(tool, { inputSchema }, ({ messages }) => ({ content: [], structuredContent: { messages } }));
	}
	await server.connect(transport as Transport);
	sessions.set(id, transport);
	return transport;
}

const server = createServer(async (request, response) => {
	const transport = sessions.get(String(request.headers["mcp-session-id"])) ?? (await open());
	// Read here as Express does it, since the SDK takes 4 MB at most by itself.
	const chunks: Buffer[] = [];
	for await (const chunk of request) chunks.push(chunk);
	const text = Buffer.concat(chunks).toString();
	await transport.handleRequest(request, response, text === "" ? undefined : JSON.parse(text));
});
// A loop that was blocked sees its timers first, and would hang up on clients whose next request has come already.
server.keepAliveTimeout = 0;
server.listen(0, "127.0.0.1", () => {
	process.stderr.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp\n`);
});
