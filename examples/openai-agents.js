// The OpenAI Agents SDK: a filter of what each call of the model is sent, with tools for the agent. Sessions stay whole.
import { Agent, Runner, tool } from "@openai/agents";
import { palimpsest } from "palimpsest-mcp/openai-agents";
import { z } from "zod";
import { openaiModel as model } from "./models.js";
import { description, readFile } from "./read-file.js";
import "./readable-errors.js";

const { callModelInputFilter, tools } = palimpsest({ policy: { guard: { context_window_override: 32_000 } } });
const read = tool({
	name: "read_file",
	description,
	parameters: z.object({ path: z.string() }),
	execute: async (input) => readFile(input),
});
const agent = new Agent({ name: "Reader", instructions: "Read.", model, tools: [read, ...tools] });
const runner = new Runner({ callModelInputFilter, tracingDisabled: true });
const { finalOutput } = await runner.run(agent, "Read the twelve files of settings.", { maxTurns: 20 });
console.log(finalOutput);
