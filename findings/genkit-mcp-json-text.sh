#!/usr/bin/env bash
# A tool of MCP answers with texts, and a client hands them to the model. @genkit-ai/mcp 1.42.0 makes a value of a text that begins with a
# bracket and parses, though the server has declared no structured content: the model gets another id than the tool gave. Two texts become
# one with nothing between them, so two lists of ids run together; with one picture beside the text, nothing of this happens.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts genkit@1.42.0 @genkit-ai/mcp@1.42.0 @modelcontextprotocol/sdk@1.32.2 >/dev/null
cat >run.mjs <<'END'
import { createServer } from "node:http";
import { createMcpClient } from "@genkit-ai/mcp";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { genkit } from "genkit";

const text = (text) => ({ type: "text", text });
const image = { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" };
const results = {
	one_json: [text('{"id": 10765432100123456789, "price": 1.0}')],
	two_texts: [text("1001\n1002"), text("1003\n1004")],
	two_json: [text('{"id":1}'), text('{"id":2}')],
	json_and_image: [text('{"id": 10765432100123456789}'), image],
};
const http = createServer(async (request, answer) => {
	const server = new McpServer({ name: "server", version: "1.0.0" });
	for (const [name, content] of Object.entries(results)) server.registerTool(name, { description: name }, async () => ({ content }));
	const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
	await server.connect(transport);
	await transport.handleRequest(request, answer);
});
await new Promise((listening) => http.listen(0, "127.0.0.1", listening));

let asked;
const ai = genkit({});
const model = ai.defineModel({ name: "model", supports: { tools: true, multiturn: true } }, async ({ messages, tools }) => {
	asked = messages.at(-1);
	const calls = tools.map(({ name }) => ({ toolRequest: { name, ref: name, input: {} } }));
	return { message: { role: "model", content: asked.role === "tool" ? [{ text: "Done." }] : calls }, finishReason: "stop" };
});
const client = createMcpClient({ name: "client", serverName: "s", mcpServer: { url: `http://127.0.0.1:${http.address().port}/mcp` } });
await client.ready();
await ai.generate({ model, prompt: "Call all.", tools: await client.getActiveTools(ai) });
for (const { toolResponse } of asked.content) console.log(`${toolResponse.ref}: ${JSON.stringify(toolResponse.output)}`);
process.exit(0);
END
found=$(GENKIT_ENV=prod node run.mjs)
echo "$found"
cat >expected <<'END'
one_json: {"id":10765432100123458000,"price":1}
two_texts: "1001\n10021003\n1004"
two_json: "{\"id\":1}{\"id\":2}"
json_and_image: {"content":[{"type":"text","text":"{\"id\": 10765432100123456789}"},{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}]}
END
diff expected - <<<"$found"
