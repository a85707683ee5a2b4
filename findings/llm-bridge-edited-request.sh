#!/usr/bin/env bash
# handleUniversalRequest of llm-bridge 2.0.1 gives a program the request in a universal form to edit, and sends what the program returns. The
# program masks a tool result and says `contextModified: true`: the original body goes out, whole, since only an added or a removed message
# counts as an edit. With a message removed too, the masked result still goes out in full; a text that was a plain string goes out edited.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts llm-bridge@2.0.1 >/dev/null
cat >run.mjs <<'END'
import { createServer } from "node:http";
import { handleUniversalRequest } from "llm-bridge";

let sent;
const server = createServer(async (request, answer) => {
	sent = "";
	for await (const part of request) sent += part;
	answer.setHeader("content-type", "application/json").end("{}");
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const body = {
	model: "claude-sonnet-4-5",
	max_tokens: 1000,
	system: "Be short.",
	messages: [
		{ role: "user", content: "Hello." },
		{ role: "assistant", content: "Hello, what can I read?" },
		{ role: "user", content: "Read a.ts." },
		{ role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "read", input: { path: "a.ts" } }] },
		{ role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "a long file" }] },
	],
};
const parts = (request) => request.messages.flatMap((message) => message.content);
const mask = (request) => {
	for (const part of parts(request)) if (part.tool_result) part.tool_result.result = "[masked]";
};
const edits = {
	"result masked": mask,
	"result masked, system and text changed": (request) => {
		mask(request);
		request.system = "Be polite.";
		parts(request)[2].text = "Read b.ts.";
	},
	"the same, first two messages removed": (request) => {
		edits["result masked, system and text changed"](request);
		request.messages.splice(0, 2);
	},
};
for (const [name, edit] of Object.entries(edits)) {
	const run = async (request) => (edit(request), { request, contextModified: true });
	const options = { enableObservability: false };
	await handleUniversalRequest(`http://127.0.0.1:${server.address().port}/v1/messages`, structuredClone(body), {}, "POST", run, options);
	const same = sent === JSON.stringify(body) ? "the body as it was" : `${JSON.parse(sent).messages.length} messages`;
	const has = ["a long file", "[masked]", "Be polite.", "Read b.ts."].filter((text) => sent.includes(text));
	console.log(`${name}: ${same}, with ${has.join(", ")}`);
}
server.close();
END
found=$(node run.mjs)
echo "$found"
[ "$found" = 'result masked: the body as it was, with a long file
result masked, system and text changed: the body as it was, with a long file
the same, first two messages removed: 3 messages, with a long file, Be polite., Read b.ts.' ]
