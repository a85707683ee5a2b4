#!/usr/bin/env bash
# A search that the provider runs itself is one part of a message of the AI SDK, with its result, like any tool's but for `providerExecuted`.
# toBaseMessages of @ai-sdk/langchain 3.0.99 makes an ordinary call of it and drops the result: the history that a LangChain model gets next
# has a call that nothing answers, which the APIs refuse. A picture in a tool's result is dropped too, without a word in its place.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts ai@7.0.173 @ai-sdk/langchain@3.0.99 @langchain/core@1.4.0 @langchain/langgraph@1.7.3 >/dev/null
cat >run.mjs <<'END'
import { convertModelMessages, toBaseMessages } from "@ai-sdk/langchain";
import { convertToModelMessages, jsonSchema, tool } from "ai";

const search = { type: "tool-search", toolCallId: "c1", state: "output-available", input: { query: "port" }, output: "It is 8787." };
const historyOf = (part) => [
	{ id: "1", role: "user", parts: [{ type: "text", text: "Which port?" }] },
	{ id: "2", role: "assistant", parts: [{ type: "step-start" }, part, { type: "text", text: "8787." }] },
	{ id: "3", role: "user", parts: [{ type: "text", text: "Sure?" }] },
];
const show = (name, messages) => {
	const ofMessage = ({ type, content, tool_calls: calls = [] }) => `${type} ${[...calls.map(({ id }) => `call ${id}`), JSON.stringify(content)].join(" ")}`;
	console.log(`${name}: ${messages.map(ofMessage).join(", ")}`);
};
show("own tool", await toBaseMessages(historyOf(search)));
show("provider's tool", await toBaseMessages(historyOf({ ...search, providerExecuted: true })));
const value = [{ type: "text", text: "The page:" }, { type: "file", mediaType: "image/png", data: { type: "data", data: "iVBORw0KGgo=" } }];
const tools = { search: tool({ inputSchema: jsonSchema({ type: "object" }), toModelOutput: () => ({ type: "content", value }) }) };
const messages = await convertToModelMessages(historyOf(search), { tools });
console.log(`result with a picture: ${messages[2].content[0].output.value.map(({ type }) => type).join(" and ")}`);
show("in LangChain", convertModelMessages(messages));
END
found=$(node run.mjs)
echo "$found"
cat >expected <<'END'
own tool: human "Which port?", ai call c1 "8787.", tool "It is 8787.", human "Sure?"
provider's tool: human "Which port?", ai call c1 "8787.", human "Sure?"
result with a picture: text and file
in LangChain: human "Which port?", ai call c1 "8787.", tool "The page:", human "Sure?"
END
diff expected - <<<"$found"
