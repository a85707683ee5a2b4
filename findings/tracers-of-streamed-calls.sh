#!/usr/bin/env bash
# A stream of Chat Completions gives each of two parallel calls its own `index`, and two tracers put the answer together from its pieces.
# wrapOpenAI of langsmith 0.12.0 records one call for both, with the name twice and the second arguments behind the first. @langfuse/openai
# 5.11.1 records one call with both arguments and no id, and no text if the model wrote one before them. The program gets them as they are.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts openai@6.49.0 langsmith@0.12.0 @langfuse/openai@5.11.1 @opentelemetry/api@1.9.0 \
	@opentelemetry/sdk-trace-base@2.12.1 >/dev/null
cat >run.mjs <<'END'
import { createServer } from "node:http";
import { observeOpenAI } from "@langfuse/openai";
import { trace } from "@opentelemetry/api";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { wrapOpenAI } from "langsmith/wrappers";
import OpenAI from "openai";

const start = (index, id) => ({ tool_calls: [{ index, id, type: "function", function: { name: "read", arguments: "" } }] });
const rest = (index, text) => ({ tool_calls: [{ index, function: { arguments: text } }] });
const calls = [start(0, "c1"), rest(0, '{"path":'), rest(0, '"a.ts"}'), start(1, "c2"), rest(1, '{"path":"b.ts"}')];
const answers = { "two calls": calls, "a text and two calls": [{ content: "I read both." }, ...calls] };
const ofChunk = (delta, finish_reason = null) => ({ id: "x", object: "chat.completion.chunk", created: 1, model: "gpt-4o", choices: [{ index: 0, delta, finish_reason }] });
const server = createServer(async (request, answer) => {
	let body = "";
	for await (const part of request) body += part;
	const deltas = answers[JSON.parse(body).messages[0].content];
	const chunks = [{ role: "assistant", content: null }, ...deltas].map((delta) => ofChunk(delta)).concat(ofChunk({}, "tool_calls"));
	answer.setHeader("content-type", "text/event-stream");
	answer.end(`${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("")}data: [DONE]\n\n`);
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const openai = () => new OpenAI({ apiKey: "k", baseURL: `http://127.0.0.1:${server.address().port}` });

const spans = new InMemorySpanExporter();
trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }));
const runs = {};
const client = {
	createRun: async (run) => void (runs[run.id] = { ...run }),
	updateRun: async (id, changes) => void Object.assign(runs[id], changes),
};
const messageOf = {
	program: ({ choices: [{ message }] }) => message,
	langsmith: () => Object.values(runs).at(-1).outputs.choices[0].message,
	langfuse: () => JSON.parse(spans.getFinishedSpans().at(-1).attributes["langfuse.observation.output"]),
};
const clients = { program: openai(), langsmith: wrapOpenAI(openai(), { client, tracingEnabled: true }), langfuse: observeOpenAI(openai()) };
for (const content of Object.keys(answers)) {
	const request = { model: "gpt-4o", stream: true, messages: [{ role: "user", content }] };
	for (const [name, client] of Object.entries(clients)) {
		let whole;
		if (name === "program") whole = await client.chat.completions.stream(request).finalChatCompletion();
		else for await (const _ of await client.chat.completions.create(request));
		await new Promise((later) => setTimeout(later, 200));
		const message = messageOf[name](whole);
		const found = message.tool_calls.map(({ id, function: call }) => `${id} ${call.name} ${call.arguments}`);
		console.log(`${content}, ${name}: ${[message.content || "no text", ...found].join(", ")}`);
	}
}
process.exit(0);
END
found=$(node run.mjs)
echo "$found"
cat >expected <<'END'
two calls, program: no text, c1 read {"path":"a.ts"}, c2 read {"path":"b.ts"}
two calls, langsmith: no text, c1 readread {"path":"a.ts"}{"path":"b.ts"}
two calls, langfuse: no text, undefined read {"path":"a.ts"}{"path":"b.ts"}
a text and two calls, program: I read both., c1 read {"path":"a.ts"}, c2 read {"path":"b.ts"}
a text and two calls, langsmith: I read both., c1 readread {"path":"a.ts"}{"path":"b.ts"}
a text and two calls, langfuse: no text, undefined read {"path":"a.ts"}{"path":"b.ts"}
END
diff expected - <<<"$found"
