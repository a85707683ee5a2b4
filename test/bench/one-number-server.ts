import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

// The least that an MCP server can do with a conversation: one tool of the SDK that answers with one number.
const server = new McpServer({ name: "one-number", version: "1.0.0" });
server.registerTool(
	"count_messages",
	{
		description: "Counts messages.",
		inputSchema: { messages: z.array(z.unknown()), respond_with: z.string().optional() },
	},
	({ messages }) => ({ content: [{ type: "text", text: String(messages.length) }] }),
);
await server.connect(new StdioServerTransport(process.stdin, process.stdout, { maxBufferSize: 64 * 1024 * 1024 }));
