#!/usr/bin/env bash
# The usage of an answer in the AI SDK splits the input in three: read from the cache, written to it, and neither (`noCacheTokens`). The parts
# of @ai-sdk/anthropic 4.0.105 add up to the input. @openrouter/ai-sdk-provider 3.1.0 leaves the written tokens, which OpenRouter counts within
# `prompt_tokens`, in `noCacheTokens` as well: a bill by the parts pays for them twice, here 76 % too much for a turn that fills the cache.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts ai@7.0.173 @ai-sdk/anthropic@4.0.105 @openrouter/ai-sdk-provider@3.1.0 >/dev/null
cat >run.mjs <<'END'
import { createServer } from "node:http";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenRouter } from "@openrouter/ai-sdk-provider";
import { generateText } from "ai";

// the same request at both: 20 000 tokens, of which 1000 are read, 18 000 are written and 1000 are neither
const content = [{ type: "text", text: "ok" }];
const ofAnthropic = { input_tokens: 1000, cache_read_input_tokens: 1000, cache_creation_input_tokens: 18_000, output_tokens: 1 };
const ofOpenRouter = { prompt_tokens: 20_000, completion_tokens: 1, total_tokens: 20_001, prompt_tokens_details: { cached_tokens: 1000, cache_write_tokens: 18_000 } };
const choices = [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "ok" } }];
const message = { id: "m", type: "message", role: "assistant", model: "x", content, stop_reason: "end_turn", usage: ofAnthropic };
const completion = { id: "c", object: "chat.completion", created: 1, model: "x", choices, usage: ofOpenRouter };
const server = createServer((request, answer) => {
	request.resume().on("end", () => answer.setHeader("content-type", "application/json").end(JSON.stringify(request.url.endsWith("/messages") ? message : completion)));
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const baseURL = `http://127.0.0.1:${server.address().port}/v1`;
for (const [name, model] of [
	["@ai-sdk/anthropic", createAnthropic({ baseURL, apiKey: "k" })("claude-sonnet-4-6")],
	["@openrouter/ai-sdk-provider", createOpenRouter({ baseURL, apiKey: "k" })("anthropic/claude-sonnet-4.6")],
]) {
	const { inputTokens, inputTokenDetails: parts } = (await generateText({ model, prompt: "x" })).usage;
	const { noCacheTokens: plain, cacheReadTokens: read, cacheWriteTokens: written } = parts;
	const cents = (3 * plain + 0.3 * read + 3.75 * written) / 1e4;
	console.log(`${name}: input ${inputTokens}, parts ${plain} + ${read} + ${written} = ${plain + read + written}, ${cents.toFixed(2)} cents`);
}
server.close();
END
found=$(node run.mjs 2>/dev/null)
echo "$found"
[ "$found" = '@ai-sdk/anthropic: input 20000, parts 1000 + 1000 + 18000 = 20000, 7.08 cents
@openrouter/ai-sdk-provider: input 20000, parts 19000 + 1000 + 18000 = 38000, 12.48 cents' ]
