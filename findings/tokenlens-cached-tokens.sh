#!/usr/bin/env bash
# One request of 190 000 tokens, 180 000 of them from the cache, in the usage of four sources. Anthropic counts the cached tokens beside the
# input, the others within it. tokenlens 1.3.1 knows the fields of them all, but not the difference: its cost is right for Anthropic alone
# and about six times too high for the others, and for Anthropic alone a window of 200 000 that is full counts as 5 % used, so
# shouldCompact says no.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts tokenlens@1.3.1 >/dev/null
cat >run.mjs <<'END'
import { contextHealth, getTokenCosts, shouldCompact } from "tokenlens";

const cost = { input: 3, output: 15, cache_read: 0.3, cache_write: 3.75 };
const model = { id: "some-model", name: "Some model", cost, limit: { context: 200_000, output: 64_000 } };
const catalog = { some: { id: "some", models: { "some-model": model } } };
const modelId = "some:some-model";
const usages = {
	"AI SDK 5": { inputTokens: 190_000, outputTokens: 1000, totalTokens: 191_000, cachedInputTokens: 180_000 },
	"AI SDK 7": { inputTokens: 190_000, outputTokens: 1000, inputTokenDetails: { noCacheTokens: 10_000, cacheReadTokens: 180_000 } },
	OpenAI: { prompt_tokens: 190_000, completion_tokens: 1000, prompt_tokens_details: { cached_tokens: 180_000 } },
	Anthropic: { input_tokens: 10_000, output_tokens: 1000, cache_read_input_tokens: 180_000, cache_creation_input_tokens: 0 },
};
for (const [name, usage] of Object.entries(usages)) {
	const { totalUSD } = getTokenCosts({ modelId, usage, providers: catalog });
	const used = Math.floor(contextHealth({ modelId, usage, catalog }).percentUsed * 100);
	console.log(`${name}: ${totalUSD.toFixed(3)} dollars, ${used} % used, ${shouldCompact({ modelId, usage, catalog }) ? "compact" : "do not compact"}`);
}
const right = (10_000 * cost.input + 180_000 * cost.cache_read + 1000 * cost.output) / 1e6;
console.log(`in truth: ${right.toFixed(3)} dollars, 95 % used`);
END
found=$(node run.mjs)
echo "$found"
[ "$found" = 'AI SDK 5: 0.639 dollars, 95 % used, compact
AI SDK 7: 0.585 dollars, 95 % used, compact
OpenAI: 0.639 dollars, 95 % used, compact
Anthropic: 0.099 dollars, 5 % used, do not compact
in truth: 0.099 dollars, 95 % used' ]
