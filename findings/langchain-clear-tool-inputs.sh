#!/usr/bin/env bash
# ClearToolUsesEdit of LangChain 1.5.14 with `clearToolInputs: true` empties the arguments of old calls in `tool_calls`. An answer of
# @langchain/anthropic 1.5.11 has each call in `content` as well, and its next request is made from there: the long input goes out with
# every request, while the middleware's own count says that it is gone. With a call in `tool_calls` alone the input goes out empty.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts langchain@1.5.14 @langchain/core@1.4.0 @langchain/anthropic@1.5.11 zod@4.6.7 >/dev/null
cat >run.mjs <<'END'
import { createServer } from "node:http";
import { ChatAnthropic } from "@langchain/anthropic";
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { ClearToolUsesEdit, contextEditingMiddleware, createAgent, tool } from "langchain";
import { z } from "zod";

const usage = { input_tokens: 1, output_tokens: 1 };
const answer = { type: "message", role: "assistant", model: "claude-sonnet-4-5", stop_reason: "tool_use", usage };
const long = "a long text ".repeat(50);
let sent;
let answers;
const server = createServer(async (request, response) => {
	let text = "";
	for await (const part of request) text += part;
	sent = JSON.parse(text);
	response.setHeader("content-type", "application/json");
	const id = `toolu_${answers.length}`;
	const content = answers.shift() ? [{ type: "tool_use", id, name: "write", input: { text: long } }] : [{ type: "text", text: "ok" }];
	response.end(JSON.stringify({ id, ...answer, content }));
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const write = tool(() => "written", { name: "write", description: "Writes.", schema: z.object({ text: z.string() }) });
let counted;
const edit = new ClearToolUsesEdit({ trigger: { tokens: 1 }, keep: { messages: 0 }, clearToolInputs: true });
const counting = { apply: async ({ messages, countTokens }) => { counted = await countTokens(messages); } };
const agent = createAgent({
	model: new ChatAnthropic({ model: "claude-sonnet-4-5", apiKey: "k", anthropicApiUrl: `http://127.0.0.1:${server.address().port}` }),
	tools: [write],
	middleware: [contextEditingMiddleware({ edits: [edit, counting] })],
});
const show = (name) => {
	const call = sent.messages.flatMap(({ content }) => content).find(({ type }) => type === "tool_use");
	console.log(`${name}: ${counted} tokens counted, input sent: ${JSON.stringify(call.input).length} characters`);
};
answers = [true, false];
await agent.invoke({ messages: [new HumanMessage("Write.")] });
show("an answer of Claude");
answers = [false];
await agent.invoke({
	messages: [
		new HumanMessage("Write."),
		new AIMessage({ content: "", tool_calls: [{ id: "toolu_x", name: "write", args: { text: long } }] }),
		new ToolMessage({ content: "written", tool_call_id: "toolu_x", name: "write" }),
	],
});
show("a call in tool_calls alone");
server.close();
END
found=$(node run.mjs)
echo "$found"
[ "$found" = 'an answer of Claude: 21 tokens counted, input sent: 611 characters
a call in tool_calls alone: 17 tokens counted, input sent: 2 characters' ]
