#!/usr/bin/env bash
# Two libraries turn a history of one API into that of another, and both move the words. They lose the results of two tools that ran at once:
# rosetta-ai 1.6.1 takes them to the AI SDK from Chat Completions, and drops those of Anthropic, which stand in a message of the user.
# llm-bridge 2.0.1 gives Chat Completions each result of Anthropic as JSON in a text of the user, which repeats the result three times, and no
# message that answers the calls; the other way it makes messages with the role "tool", which Anthropic does not have.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts llm-bridge@2.0.1 rosetta-ai@1.6.1 >/dev/null
cat >run.mjs <<'END'
import { translateBetweenProviders } from "llm-bridge";
import { Provider, translate } from "rosetta-ai";

const results = { c1: "a.ts:8787", c2: "b.ts:8788" };
const ids = Object.keys(results);
const ask = { role: "user", content: "Read both." };
const histories = {
	anthropic: [
		ask,
		{ role: "assistant", content: ids.map((id) => ({ type: "tool_use", id, name: "read", input: { of: id } })) },
		{ role: "user", content: ids.map((id) => ({ type: "tool_result", tool_use_id: id, content: results[id] })) },
	],
	openai: [
		ask,
		{ role: "assistant", content: null, tool_calls: ids.map((id) => ({ id, type: "function", function: { name: "read", arguments: `{"of":"${id}"}` } })) },
		...ids.map((id) => ({ role: "tool", tool_call_id: id, content: results[id] })),
	],
};
const show = (name, messages) => {
	const text = JSON.stringify(messages);
	const counts = Object.values(results).map((result) => text.split(result).length - 1);
	const last = messages.slice(2).map(({ role, content }) => `${role} ${[content].flat().map(({ type }) => type).join("+") || "empty"}`);
	console.log(`${name}: ${last.join(", ")}; each result ${counts.join(" and ")} times`);
};
show("rosetta-ai, openai to AI SDK", translate(histories.openai, { from: Provider.OpenAICompletions, to: Provider.VercelAI }).messages);
show("rosetta-ai, anthropic to AI SDK", translate(histories.anthropic, { from: Provider.Anthropic, to: Provider.VercelAI }).messages);
for (const [from, to] of [["anthropic", "openai"], ["openai", "anthropic"]]) {
	show(`llm-bridge, ${from} to ${to}`, translateBetweenProviders(from, to, { model: "m", max_tokens: 100, messages: histories[from] }).messages);
}
END
found=$(node run.mjs)
echo "$found"
[ "$found" = 'rosetta-ai, openai to AI SDK: tool tool-result, tool tool-result; each result 1 and 1 times
rosetta-ai, anthropic to AI SDK: user empty; each result 0 and 0 times
llm-bridge, anthropic to openai: user text+text; each result 3 and 3 times
llm-bridge, openai to anthropic: tool tool_result, tool tool_result; each result 1 and 1 times' ]
