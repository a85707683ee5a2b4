// The Vercel AI SDK: a middleware around the model, and tools for the agent. The messages that the SDK keeps stay whole.
import { openai } from "@ai-sdk/openai";
import { generateText, stepCountIs, tool, wrapLanguageModel } from "ai";
import { palimpsest } from "palimpsest-mcp/ai-sdk";
import { z } from "zod";
import { openaiModel as model } from "./models.js";
import { description, readFile } from "./read-file.js";
import "./readable-errors.js";

const context = palimpsest({ policy: { guard: { context_window_override: 32_000 } } });

const { text } = await generateText({
	model: wrapLanguageModel({ model: openai.chat(model), middleware: context }),
	prompt: "Read the twelve files of settings.",
	tools: {
		read_file: tool({ description, inputSchema: z.object({ path: z.string() }), execute: readFile }),
		...context.tools,
	},
	stopWhen: stepCountIs(20),
});
console.log(text);
