#!/usr/bin/env bash
# A call that gets a history of tool calls and no tools, as one that asks for a summary does: @ai-sdk/anthropic 4.0.105 sends the calls and
# results, @ai-sdk/amazon-bedrock 5.0.101 takes every call and result out of the request and goes on with what is left. A warning is all that
# tells of it, and the answer reads as if it knew the whole conversation.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts ai@7.0.173 @ai-sdk/anthropic@4.0.105 @ai-sdk/amazon-bedrock@5.0.101 >/dev/null
cat >run.mjs <<'END'
import { createServer } from "node:http";
import { createAmazonBedrock } from "@ai-sdk/amazon-bedrock";
import { createAnthropic } from "@ai-sdk/anthropic";
import { generateText } from "ai";

const content = [{ type: "text", text: "ok" }];
const ofMessages = { id: "m", type: "message", role: "assistant", model: "x", content, stop_reason: "end_turn", usage: { input_tokens: 1, output_tokens: 1 } };
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

const call = { toolCallId: "c1", toolName: "read" };
const messages = [
	{ role: "user", content: "Which port does a.ts listen on?" },
	{ role: "assistant", content: [{ type: "tool-call", ...call, input: { path: "a.ts" } }] },
	{ role: "tool", content: [{ type: "tool-result", ...call, output: { type: "text", value: "listen(8787)" } }] },
	{ role: "assistant", content: "It is 8787." },
	{ role: "user", content: "Sum up what you have read." },
];
for (const [name, model] of [
	["@ai-sdk/anthropic", createAnthropic({ baseURL: `${url}/v1`, apiKey: "k" })("claude-sonnet-4-5")],
	["@ai-sdk/amazon-bedrock", createAmazonBedrock({ baseURL: url, region: "us-east-1", apiKey: "k" })("anthropic.claude-sonnet-4-5")],
]) {
	const { warnings } = await generateText({ model, messages });
	const text = JSON.stringify(sent.messages);
	console.log(`${name}: ${sent.messages.length} messages, the result is ${text.includes("listen(8787)") ? "sent" : "missing"}, warnings: ${warnings.length}`);
}
server.close();
END
found=$(node run.mjs 2>/dev/null)
echo "$found"
[ "$found" = '@ai-sdk/anthropic: 5 messages, the result is sent, warnings: 0
@ai-sdk/amazon-bedrock: 3 messages, the result is missing, warnings: 1' ]
