// LangChain.js: a middleware around each call of the model.
import { ChatOpenAI } from "@langchain/openai";
import { createAgent, createMiddleware, tool } from "langchain";
import { openArchive } from "palimpsest-mcp";
import { z } from "zod";
import { guardedMessages } from "./guarded-messages.js";
import { description, readFile } from "./read-file.js";
import "./readable-errors.js";

const archive = await openArchive();
const options = { model: "gpt-4o", contextWindow: 32_000, archive, policy: { preset: "balanced" } };

const palimpsest = createMiddleware({
	name: "palimpsest",
	wrapModelCall: async (request, handler) =>
		handler({ ...request, messages: await guardedMessages(request.messages, options) }),
});
const agent = createAgent({
	model: new ChatOpenAI({ model: "gpt-4o", maxRetries: 2 }),
	tools: [tool(readFile, { name: "read_file", description, schema: z.object({ path: z.string() }) })],
	middleware: [palimpsest],
});
const prompt = { role: "user", content: "Read the twelve files of settings." };
const { messages } = await agent.invoke({ messages: [prompt] }, { recursionLimit: 100 });
console.log(messages.at(-1).content);
await archive?.close();
