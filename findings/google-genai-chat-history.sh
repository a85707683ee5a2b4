#!/usr/bin/env bash
# A chat of @google/genai 2.32.0 leaves an answer without parts out of the next request, with the message before it, as its guide says. That
# message is the tool's result in a loop of tools: the result is lost and its call goes out unanswered. In a stream the answer counts as
# empty as soon as one chunk has no parts, such as a last one that brings only the finish reason or the usage: the question and the whole
# answer, which the program has shown, are missing from the next request.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @google/genai@2.32.0 >/dev/null
cat >run.mjs <<'END'
import { createServer } from "node:http";
import { GoogleGenAI } from "@google/genai";

let sent;
let replies;
const server = createServer(async (request, answer) => {
	let text = "";
	for await (const part of request) text += part;
	sent = JSON.parse(text).contents;
	const reply = replies.shift();
	const isStream = request.url.includes("stream");
	answer.setHeader("content-type", isStream ? "text/event-stream" : "application/json");
	answer.end(isStream ? reply.map((chunk) => `data: ${JSON.stringify(chunk)}\r\n\r\n`).join("") : JSON.stringify(reply));
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const ai = new GoogleGenAI({ apiKey: "k", httpOptions: { baseUrl: `http://127.0.0.1:${server.address().port}` } });
const newChat = () => ai.chats.create({ model: "gemini-2.5-pro" });
const of = (...parts) => ({ candidates: [{ content: { role: "model", parts } }] });
const end = (content) => ({ candidates: [{ content, finishReason: "STOP" }], usageMetadata: { totalTokenCount: 9 } });
const shown = ({ text, functionCall }) => text ?? (functionCall ? "(call)" : "(result)");
const show = (name) => console.log(`${name}: ${sent.map(({ role, parts }) => `${role} ${parts.map(shown).join(" ")}`).join(", ")}`);

for (const [name, answer] of [["answer with text", of({ text: "It is 8787." })], ["answer without parts", end({ role: "model" })]]) {
	const chat = newChat();
	replies = [of({ functionCall: { name: "read", args: {} } }), answer, of({ text: "ok" })];
	await chat.sendMessage({ message: "Which port?" });
	await chat.sendMessage({ message: [{ functionResponse: { name: "read", response: { output: "8787" } } }] });
	await chat.sendMessage({ message: "Sure?" });
	show(name);
}
for (const [name, last] of [["last chunk with text", end({ role: "model", parts: [{ text: "8787." }] })], ["last chunk without parts", end({ role: "model" })]]) {
	const chat = newChat();
	replies = [[of({ text: "It" }), of({ text: "is" }), last], of({ text: "ok" })];
	for await (const chunk of await chat.sendMessageStream({ message: "Which port?" })) void chunk;
	await chat.sendMessage({ message: "Sure?" });
	show(name);
}
server.close();
END
found=$(node run.mjs)
echo "$found"
[ "$found" = 'answer with text: user Which port?, model (call), user (result), model It is 8787., user Sure?
answer without parts: user Which port?, model (call), user Sure?
last chunk with text: user Which port?, model It, model is, model 8787., user Sure?
last chunk without parts: user Sure?' ]
