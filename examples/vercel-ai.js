// The Vercel AI SDK: prepareStep is called before each step and may change the messages for the model.
import { openai } from "@ai-sdk/openai";
import { generateText, stepCountIs, tool } from "ai";
import { guard, openArchive } from "palimpsest-mcp";
import { z } from "zod";
import { description, readFile } from "./read-file.js";
import "./readable-errors.js";

const archive = await openArchive();
const options = { model: "gpt-4o", contextWindow: 32_000, archive, policy: { preset: "balanced" } };

const { text } = await generateText({
	model: openai.chat("gpt-4o"),
	prompt: "Read the twelve files of settings.",
	tools: { read_file: tool({ description, inputSchema: z.object({ path: z.string() }), execute: readFile }) },
	stopWhen: stepCountIs(20),
	prepareStep: async ({ messages }) => ({ messages: (await guard(messages, options)).conversation }),
});
console.log(text);
await archive?.close();
