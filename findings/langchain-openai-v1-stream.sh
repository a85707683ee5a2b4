#!/usr/bin/env bash
# With `outputVersion: "v1"` ChatOpenAI of @langchain/openai 1.6.0 keeps an answer of the Responses API as standard content blocks, and writes
# the next request from them. After `invoke` the calls go back with their arguments. After `stream` the message has the arguments in
# `tool_calls`, so the tools run well, but its blocks have `{}`: the model reads next that it called its tools with nothing. Without
# `outputVersion` both ways send the same.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @langchain/openai@1.6.0 @langchain/core@1.4.0 >/dev/null
cat >run.mjs <<'END'
import { createServer } from "node:http";
import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";

const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2, input_tokens_details: { cached_tokens: 0 }, output_tokens_details: { reasoning_tokens: 0 } };
const output = ["a.ts", "b.ts"].map((path, index) => (
	{ type: "function_call", id: `fc_${index}`, call_id: `c${index}`, name: "read", arguments: JSON.stringify({ path }), status: "completed" }
));
const response = { id: "resp_1", object: "response", created_at: 1, model: "gpt-5", status: "completed", output, usage };
const events = [
	{ type: "response.created", response: { ...response, status: "in_progress", output: [], usage: null } },
	...output.flatMap((item, output_index) => [
		{ type: "response.output_item.added", output_index, item: { ...item, arguments: "", status: "in_progress" } },
		...item.arguments.match(/.{1,5}/g).map((delta) => ({ type: "response.function_call_arguments.delta", item_id: item.id, output_index, delta })),
		{ type: "response.function_call_arguments.done", item_id: item.id, output_index, arguments: item.arguments },
		{ type: "response.output_item.done", output_index, item },
	]),
	{ type: "response.completed", response },
];
const stream = events.map((event, sequence_number) => `event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number })}\n\n`).join("");
let sent;
const server = createServer(async (request, answer) => {
	let body = "";
	for await (const part of request) body += part;
	sent = JSON.parse(body);
	answer.setHeader("content-type", sent.stream ? "text/event-stream" : "application/json").end(sent.stream ? stream : JSON.stringify(response));
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const baseURL = `http://127.0.0.1:${server.address().port}`;

async function streamed(model, question) {
	let whole;
	for await (const piece of await model.stream(question)) whole = whole ? whole.concat(piece) : piece;
	return whole;
}
for (const outputVersion of [undefined, "v1"]) {
	const model = new ChatOpenAI({ model: "gpt-5", apiKey: "k", useResponsesApi: true, outputVersion, configuration: { baseURL } });
	for (const ask of [(question) => model.invoke(question), (question) => streamed(model, question)]) {
		const answer = await ask("Read both.");
		const isStream = sent.stream === true;
		const results = answer.tool_calls.map(({ id }) => new ToolMessage({ tool_call_id: id, content: "listen(8787)" }));
		await model.invoke([new HumanMessage("Read both."), answer, ...results]);
		const back = sent.input.filter(({ type }) => type === "function_call").map((call) => call.arguments);
		console.log(`${outputVersion ?? "default"}, ${isStream ? "stream" : "invoke"}: tool_calls ${answer.tool_calls.map(({ args }) => args.path)}; sent back ${back}`);
	}
}
server.close();
END
found=$(node run.mjs)
echo "$found"
cat >expected <<'END'
default, invoke: tool_calls a.ts,b.ts; sent back {"path":"a.ts"},{"path":"b.ts"}
default, stream: tool_calls a.ts,b.ts; sent back {"path":"a.ts"},{"path":"b.ts"}
v1, invoke: tool_calls a.ts,b.ts; sent back {"path":"a.ts"},{"path":"b.ts"}
v1, stream: tool_calls a.ts,b.ts; sent back {},{}
END
diff expected - <<<"$found"
