#!/usr/bin/env bash
# An error that a model throws has its status (429, for example) at the program, which may wait and ask again by it. As soon as an agent
# of LangChain 1.5.14 has any middleware with wrapModelCall, also one that only passes the call on, the program gets a new error with the
# message alone: the status is in its cause.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts langchain@1.5.14 @langchain/core@1.4.0 >/dev/null
cat >run.mjs <<'END'
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { createAgent, createMiddleware } from "langchain";

class Busy extends BaseChatModel {
	_llmType() { return "busy"; }
	bindTools() { return this; }
	async _generate() { throw Object.assign(new Error("Too many requests."), { status: 429 }); }
}
const passing = createMiddleware({ name: "passing", wrapModelCall: (request, handler) => handler(request) });
for (const middleware of [[], [passing]]) {
	const agent = createAgent({ model: new Busy({ maxRetries: 0 }), tools: [], middleware });
	const error = await agent.invoke({ messages: [{ role: "user", content: "Hello." }] }).catch((error) => error);
	console.log(`${middleware.length} middleware: status ${error.status}, of the cause ${error.cause?.status}`);
}
END
found=$(node run.mjs)
echo "langchain 1.5.14: $found"
[ "$found" = "0 middleware: status 429, of the cause undefined
1 middleware: status undefined, of the cause 429" ]
