#!/usr/bin/env bash
# A program edits an answer in its history: it cuts the text, corrects the arguments of a call, and takes out a call that the user has refused.
# ChatOpenAI of @langchain/openai 1.6.0 sends all of it to the Responses API as the model wrote it, from `response_metadata.output`, and the
# refused call then has no result, which the API refuses. Without that field, and with Chat Completions, the message goes out as it stands.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @langchain/openai@1.6.0 @langchain/core@1.4.0 >/dev/null
cat >run.mjs <<'END'
import { createServer } from "node:http";
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";

const calls = [["c1", '{"path":"/etc"}'], ["c2", '{"path":"/home"}']];
const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
const message = { type: "message", id: "msg_1", role: "assistant", status: "completed", content: [{ type: "output_text", text: "A long answer.", annotations: [] }] };
const items = calls.map(([id, text]) => ({ type: "function_call", id: `fc_${id}`, call_id: id, name: "list", arguments: text, status: "completed" }));
const response = { id: "resp_1", object: "response", created_at: 1, model: "gpt-5", status: "completed", output: [message, ...items], usage };
const tool_calls = calls.map(([id, text]) => ({ id, type: "function", function: { name: "list", arguments: text } }));
const choices = [{ index: 0, finish_reason: "tool_calls", message: { role: "assistant", content: "A long answer.", tool_calls } }];
const completion = { id: "x", object: "chat.completion", created: 1, model: "gpt-5", choices, usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } };
let sent;
const server = createServer(async (request, answer) => {
	let body = "";
	for await (const part of request) body += part;
	sent = JSON.parse(body);
	answer.setHeader("content-type", "application/json").end(JSON.stringify(sent.input ? response : completion));
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const baseURL = `http://127.0.0.1:${server.address().port}`;

for (const [name, useResponsesApi, fields] of [["Chat Completions", false], ["Responses", true], ["Responses, without the field", true, { response_metadata: {} }]]) {
	const model = new ChatOpenAI({ model: "gpt-5", apiKey: "k", useResponsesApi, configuration: { baseURL } });
	const answer = await model.invoke("List the folders.");
	const [first] = answer.tool_calls;
	const edited = new AIMessage({ id: answer.id, response_metadata: answer.response_metadata, content: "Short.", tool_calls: [{ ...first, args: { path: "/tmp" } }], ...fields });
	await model.invoke([new HumanMessage("List the folders."), edited, new ToolMessage({ tool_call_id: "c1", content: "empty" })]);
	const texts = JSON.stringify(sent).replaceAll("\\", "");
	console.log(`${name}: ${["A long answer.", "Short.", "/etc", "/tmp", "/home"].filter((text) => texts.includes(text)).join(", ")}`);
}
server.close();
END
found=$(node run.mjs)
echo "$found"
[ "$found" = 'Chat Completions: Short., /tmp
Responses: A long answer., /etc, /home
Responses, without the field: Short., /tmp' ]
