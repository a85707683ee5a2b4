// LangChain.js: a middleware around each call of the model, with tools for the agent. The checkpoint stays whole.
import { ChatOpenAI } from "@langchain/openai";
import { createAgent, tool } from "langchain";
import { palimpsest } from "palimpsest-mcp/langchain";
import { z } from "zod";
import { openaiModel as model } from "./models.js";
import { description, readFile } from "./read-file.js";
import "./readable-errors.js";

const agent = createAgent({
	model: new ChatOpenAI({ model, maxRetries: 2 }),
	tools: [tool(readFile, { name: "read_file", description, schema: z.object({ path: z.string() }) })],
	middleware: [palimpsest({ policy: { guard: { context_window_override: 32_000 } } })],
});
const prompt = { role: "user", content: "Read the twelve files of settings." };
const { messages } = await agent.invoke({ messages: [prompt] }, { recursionLimit: 100 });
console.log(messages.at(-1).content);
