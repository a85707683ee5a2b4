#!/usr/bin/env bash
# summarizationMiddleware of LangChain 1.5.14 puts the conversation into its prompt as the second argument of String.replace, where `$$`, `$&`,
# `$'` and `` $` `` are patterns. Code of shells is full of them: here `$'` of a tool result becomes the end of the prompt, `$$` becomes `$`, and
# `` $` `` becomes the prompt up to the conversation. The summary replaces the messages, so nothing has the right text afterwards.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts langchain@1.5.14 @langchain/core@1.4.0 >/dev/null
cat >run.mjs <<'END'
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { createAgent, summarizationMiddleware } from "langchain";

let asked;
class Fake extends BaseChatModel {
	_llmType() { return "fake"; }
	bindTools() { return this; }
	async _generate([first]) {
		if (String(first.content).startsWith("SUM UP")) asked = first.content;
		return { generations: [{ text: "ok", message: new AIMessage("ok") }] };
	}
}
const model = new Fake({});
const summary = summarizationMiddleware({ model, trigger: { messages: 4 }, keep: { messages: 1 }, summaryPrompt: "SUM UP <{messages}> THE END" });
const agent = createAgent({ model, tools: [], middleware: [summary] });
for (const result of ["IFS=$'\\n'", "echo $$", "echo $&", "x=$`date`"]) {
	await agent.invoke({
		messages: [
			new HumanMessage("Read."),
			new AIMessage({ content: "", tool_calls: [{ id: "c1", name: "read", args: {} }] }),
			new ToolMessage({ content: result, tool_call_id: "c1", name: "read" }),
			new HumanMessage("And?"),
		],
	});
	console.log(`${result}  ->  ${asked.slice(asked.indexOf("read, ") + 6).replaceAll("\n", " ")}`);
}
END
found=$(node run.mjs)
echo "$found"
cat >expected <<'END'
IFS=$'\n'  ->  IFS=> THE END\n'> THE END
echo $$  ->  echo $> THE END
echo $&  ->  echo {messages}> THE END
x=$`date`  ->  x=SUM UP <date`> THE END
END
diff expected - <<<"$found"
