#!/usr/bin/env bash
# TokenMemory of beeai-framework 0.1.30 drops messages so that a history stays under `maxTokens`. It measures the role and the text parts of a
# message, and the parts of calls and of tool results are neither: five results of 100 000 characters count as 5 tokens, so that a memory of
# 1000 tokens drops nothing. If a text does not fit, it drops one message after the other from the start, the system prompt first and a call
# before its result, and stops where the result stands without its call.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts --legacy-peer-deps beeai-framework@0.1.30 zod@3.25.76 >/dev/null
cat >run.mjs <<'END'
import { AssistantMessage, SystemMessage, ToolMessage, UserMessage } from "beeai-framework/backend/message";
import { TokenMemory } from "beeai-framework/memory/tokenMemory";

const ids = ["c1", "c2", "c3", "c4", "c5"];
const call = (toolCallId) => new AssistantMessage([{ type: "tool-call", toolCallId, toolName: "read", input: { path: toolCallId } }]);
const result = (toolCallId, value) => new ToolMessage([{ type: "tool-result", toolCallId, toolName: "read", output: { type: "text", value } }]);

const results = new TokenMemory({ maxTokens: 1000 });
await results.addMany(ids.map((id) => result(id, "word ".repeat(20_000))));
console.log(`${results.messages.length} results of 100000 characters: ${results.tokensUsed} tokens of ${results.maxTokens}`);

const memory = new TokenMemory({ maxTokens: 1000 });
await memory.addMany([new SystemMessage("You read files."), new UserMessage("Read it."), call("c1"), result("c1", "a long file")]);
await memory.add(new AssistantMessage("x".repeat(3987)));
console.log(`after a long answer: ${memory.messages.map(({ role, content }) => `${role} ${content[0].type}`).join(", ")}`);
END
found=$(node run.mjs)
echo "$found"
[ "$found" = '5 results of 100000 characters: 5 tokens of 1000
after a long answer: tool tool-result, assistant text' ]
