#!/usr/bin/env bash
# MCP asks a server that has structured content to send it as text too, and `_meta` is not for the model. @langchain/mcp-adapters 1.1.4 gives
# the model the text alone, as its guide says, if a result has neither. With either, a result of one text becomes one string of JSON that has
# the text, escaped, and the structured content or `_meta` after it: twice the tokens, and other bytes for each `_meta`. A second text in the
# result switches that off, and without a text the model gets nothing at all.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @langchain/mcp-adapters@1.1.4 @langchain/core@1.4.0 @langchain/langgraph@1.7.3 @modelcontextprotocol/sdk@1.32.2 >/dev/null
cat >run.mjs <<'END'
import { loadMcpTools } from "@langchain/mcp-adapters";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";

const structuredContent = { rows: [{ id: 1 }] };
const text = { type: "text", text: JSON.stringify(structuredContent) };
const results = {
	text: { content: [text] },
	text_and_structured: { content: [text], structuredContent },
	two_texts_and_structured: { content: [{ type: "text", text: "One row." }, text], structuredContent },
	structured: { content: [], structuredContent },
	words_and_meta: { content: [{ type: "text", text: "One row." }], _meta: { "example.org/trace": "4bf92f" } },
};
const server = new McpServer({ name: "server", version: "1.0.0" });
for (const [name, result] of Object.entries(results)) server.registerTool(name, { description: name }, async () => result);
const [near, far] = InMemoryTransport.createLinkedPair();
await server.connect(far);
const client = new Client({ name: "client", version: "1.0.0" });
await client.connect(near);
for (const tool of await loadMcpTools("server", client)) {
	const { content } = await tool.invoke({ type: "tool_call", id: "c1", name: tool.name, args: {} });
	console.log(`${tool.name}: ${typeof content === "string" ? content : JSON.stringify(content)}`);
}
process.exit(0);
END
found=$(node run.mjs)
echo "$found"
[ "$found" = 'text: {"rows":[{"id":1}]}
text_and_structured: {"type":"text","text":"{\"rows\":[{\"id\":1}]}","structuredContent":{"rows":[{"id":1}]}}
two_texts_and_structured: [{"type":"text","text":"One row."},{"type":"text","text":"{\"rows\":[{\"id\":1}]}"}]
structured: []
words_and_meta: {"type":"text","text":"One row.","meta":{"example.org/trace":"4bf92f"}}' ]
