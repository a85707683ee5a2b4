// An agent loop over the OpenAI SDK. The history is kept whole; each request has only the part that fits.
import OpenAI from "openai";
import { guard, openArchive } from "palimpsest-mcp";
import { openaiModel as model } from "./models.js";
import { description, parameters, readFile } from "./read-file.js";
import "./readable-errors.js";

const client = new OpenAI();
const archive = await openArchive();
const tools = [{ type: "function", function: { name: "read_file", description, parameters } }];
const options = { model, contextWindow: 32_000, tools, archive, policy: { preset: "balanced" } };
const history = [{ role: "user", content: "Read the twelve files of settings." }];

for (;;) {
	const { conversation } = await guard(history, options);
	const { choices } = await client.chat.completions.create({ model, messages: conversation, tools });
	const { message } = choices[0];
	history.push(message);
	if (!message.tool_calls) break;
	for (const { id, function: call } of message.tool_calls) {
		history.push({ role: "tool", tool_call_id: id, content: readFile(JSON.parse(call.arguments)) });
	}
}
console.log(history.at(-1).content);
await archive?.close();
