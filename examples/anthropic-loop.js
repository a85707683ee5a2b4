// An agent loop over the Anthropic SDK. The history is kept whole; each request has only the part that fits.
import Anthropic from "@anthropic-ai/sdk";
import { guard, openArchive } from "palimpsest-mcp";
import { anthropicModel as model } from "./models.js";
import { description, parameters, readFile } from "./read-file.js";
import "./readable-errors.js";

const client = new Anthropic();
const archive = await openArchive();
const tools = [{ name: "read_file", description, input_schema: parameters }];
const options = { contextWindow: 32_000, archive, policy: { preset: "balanced" } };
const messages = [{ role: "user", content: "Read the twelve files of settings." }];

for (;;) {
	const request = { model, max_tokens: 4_096, tools, messages };
	const { conversation } = await guard(request, options);
	const { content } = await client.messages.create(conversation);
	messages.push({ role: "assistant", content });
	const calls = content.filter(({ type }) => type === "tool_use");
	if (calls.length === 0) break;
	const results = calls.map(({ id, input }) => ({ type: "tool_result", tool_use_id: id, content: readFile(input) }));
	messages.push({ role: "user", content: results });
}
console.log(messages.at(-1).content[0].text);
await archive?.close();
