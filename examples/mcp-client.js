// An agent program that calls the server between turns, in any language: here by the MCP SDK over stdio.
import { readFile as readText } from "node:fs/promises";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import OpenAI from "openai";
import { openaiModel as model } from "./models.js";
import { description, parameters, readFile } from "./read-file.js";
import "./readable-errors.js";

const client = new OpenAI();
const tools = [{ type: "function", function: { name: "read_file", description, parameters } }];
const history = [{ role: "user", content: "Read the twelve files of settings." }];

const palimpsest = new Client({ name: "agent", version: "1.0.0" });
await palimpsest.connect(new StdioClientTransport({ command: "npx", args: ["palimpsest-mcp"], env: process.env }));
const guarded = async (messages) => {
	const policy = { preset: "balanced" };
	const { structuredContent, isError, content } = await palimpsest.callTool({
		name: "guard_context",
		arguments: { messages, tools, model, context_window: 32_000, policy },
	});
	if (isError) throw new Error(content[0].text);
	// In an answer over 8 MB the messages are in a file.
	const { messages: answered, messages_uri: file } = structuredContent;
	return answered ?? JSON.parse(await readText(new URL(file), "utf8"));
};

for (;;) {
	const messages = await guarded(history);
	const { choices } = await client.chat.completions.create({ model, messages, tools });
	const { message } = choices[0];
	history.push(message);
	if (!message.tool_calls) break;
	for (const { id, function: call } of message.tool_calls) {
		history.push({ role: "tool", tool_call_id: id, content: readFile(JSON.parse(call.arguments)) });
	}
}
console.log(history.at(-1).content);
await palimpsest.close();
