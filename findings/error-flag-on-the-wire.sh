#!/usr/bin/env bash
# A tool that failed is marked in a framework's own message (`error-text`, `status: "error"`), and both Anthropic's Messages API and Bedrock's
# Converse have a field for it. @ai-sdk/anthropic 4.0.105 sets it; @ai-sdk/amazon-bedrock 5.0.101 and @langchain/anthropic 1.5.11 send the
# text alone, so the model reads a failure as if it were the tool's result.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts ai@7.0.173 @ai-sdk/anthropic@4.0.105 @ai-sdk/amazon-bedrock@5.0.101 \
	@langchain/anthropic@1.5.11 @langchain/core@1.4.0 >/dev/null
cat >run.mjs <<'END'
import { createServer } from "node:http";
import { createAmazonBedrock } from "@ai-sdk/amazon-bedrock";
import { createAnthropic } from "@ai-sdk/anthropic";
import { ChatAnthropic } from "@langchain/anthropic";
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { generateText, jsonSchema, tool } from "ai";

const usage = { input_tokens: 1, output_tokens: 1 };
const ofMessages = { id: "m", type: "message", role: "assistant", model: "x", content: [{ type: "text", text: "ok" }], stop_reason: "end_turn", usage };
const ofConverse = {
	output: { message: { role: "assistant", content: [{ text: "ok" }] } },
	stopReason: "end_turn",
	usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
	metrics: { latencyMs: 1 },
};
let sent;
const server = createServer(async (request, answer) => {
	let text = "";
	for await (const part of request) text += part;
	sent = JSON.parse(text);
	answer.setHeader("content-type", "application/json");
	answer.end(JSON.stringify(request.url.includes("converse") ? ofConverse : ofMessages));
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const url = `http://127.0.0.1:${server.address().port}`;
const show = (name) => console.log(`${name}: ${JSON.stringify(sent.messages.at(-1).content)}`);

const call = { toolCallId: "c1", toolName: "read" };
const messages = [
	{ role: "user", content: "Read it." },
	{ role: "assistant", content: [{ type: "tool-call", ...call, input: { path: "a" } }] },
	{ role: "tool", content: [{ type: "tool-result", ...call, output: { type: "error-text", value: "No such file." } }] },
];
const tools = { read: tool({ inputSchema: jsonSchema({ type: "object" }) }) };
await generateText({ model: createAnthropic({ baseURL: `${url}/v1`, apiKey: "k" })("claude-sonnet-4-5"), messages, tools });
show("@ai-sdk/anthropic");
await generateText({ model: createAmazonBedrock({ baseURL: url, region: "us-east-1", apiKey: "k" })("anthropic.claude-sonnet-4-5"), messages, tools });
show("@ai-sdk/amazon-bedrock");
await new ChatAnthropic({ model: "claude-sonnet-4-5", apiKey: "k", anthropicApiUrl: url }).invoke([
	new HumanMessage("Read it."),
	new AIMessage({ content: "", tool_calls: [{ id: "c1", name: "read", args: { path: "a" } }] }),
	new ToolMessage({ content: "No such file.", tool_call_id: "c1", status: "error" }),
]);
show("@langchain/anthropic");
server.close();
END
found=$(node run.mjs 2>/dev/null)
echo "$found"
[ "$found" = '@ai-sdk/anthropic: [{"type":"tool_result","tool_use_id":"c1","content":"No such file.","is_error":true}]
@ai-sdk/amazon-bedrock: [{"toolResult":{"toolUseId":"c1","content":[{"text":"No such file."}]}}]
@langchain/anthropic: [{"type":"tool_result","content":"No such file.","tool_use_id":"c1"}]' ]
