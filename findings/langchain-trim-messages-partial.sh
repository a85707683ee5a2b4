#!/usr/bin/env bash
# trimMessages of @langchain/core 1.4.0 with `allowPartial: true` keeps a part of the message that does not fit whole. If two or more blocks of
# a tool's result fit, the history has the result twice for its one call, with one block and with two, and the limit counts both. With
# `strategy: "last"` it keeps the first blocks and reverses them, where the reference promises the last. With `strategy: "first"` it cuts a
# text in the program's own message, so the history that the program trims has lost the rest.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @langchain/core@1.4.0 >/dev/null
cat >run.mjs <<'END'
import { AIMessage, HumanMessage, ToolMessage, trimMessages } from "@langchain/core/messages";

// a block, or a line of a plain text, counts as one
const sizeOf = ({ content }) => (typeof content === "string" ? content.split("\n").length : content.length);
const tokenCounter = (messages) => messages.reduce((sum, message) => sum + sizeOf(message), 0);
const show = (messages) => messages.map(({ type, content }) => `${type} ${JSON.stringify(typeof content === "string" ? content : content.map(({ text }) => text))}`).join(", ");
const historyOf = (result) => [
	new HumanMessage("Read all."),
	new AIMessage({ content: "I read.", tool_calls: [{ id: "c1", name: "read", args: {} }] }),
	new ToolMessage({ content: result, tool_call_id: "c1" }),
	new AIMessage("Read."),
];
const blocks = ["a", "b", "c", "d", "e"].map((text) => ({ type: "text", text }));
for (const [strategy, maxTokens] of [["last", 2], ["last", 4], ["first", 5]]) {
	console.log(`${strategy} ${maxTokens}: ${show(await trimMessages(historyOf(blocks), { maxTokens, tokenCounter, strategy, allowPartial: true }))}`);
}
for (const strategy of ["last", "first"]) {
	const history = historyOf("a\nb\nc\nd\ne");
	const trimmed = await trimMessages(history, { maxTokens: 4, tokenCounter, strategy, allowPartial: true });
	console.log(`${strategy} 4 of a text: ${show(trimmed)}; the result in the history: ${JSON.stringify(history[2].content)}`);
}
END
found=$(node run.mjs)
echo "$found"
cat >expected <<'END'
last 2: tool ["a"], ai "Read."
last 4: tool ["b","a"], tool ["a"], ai "Read."
first 5: human "Read all.", ai "I read.", tool ["a"], tool ["a","b"]
last 4 of a text: tool "c\nd\ne", ai "Read."; the result in the history: "a\nb\nc\nd\ne"
first 4 of a text: human "Read all.", ai "I read.", tool "a\n"; the result in the history: "a\n"
END
diff expected - <<<"$found"
