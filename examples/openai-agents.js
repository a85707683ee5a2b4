// The OpenAI Agents SDK: the request is made to fit as it leaves. The same works with every SDK that takes a `fetch`.
import { Agent, OpenAIProvider, Runner, tool } from "@openai/agents";
import OpenAI from "openai";
import { guard, openArchive } from "palimpsest-mcp";
import { z } from "zod";
import { description, readFile } from "./read-file.js";
import "./readable-errors.js";

const archive = await openArchive();
const options = { contextWindow: 32_000, archive, policy: { preset: "balanced" } };

async function guardedFetch(url, init) {
	if (typeof init?.body !== "string") return fetch(url, init);
	const { conversation } = await guard(JSON.parse(init.body), options);
	return fetch(url, { ...init, body: JSON.stringify(conversation) });
}
const read = tool({
	name: "read_file",
	description,
	parameters: z.object({ path: z.string() }),
	execute: async (input) => readFile(input),
});
const agent = new Agent({ name: "Reader", instructions: "Read.", model: "gpt-4o", tools: [read] });
const openAIClient = new OpenAI({ fetch: guardedFetch });
const runner = new Runner({
	modelProvider: new OpenAIProvider({ openAIClient, useResponses: true }),
	tracingDisabled: true,
});
const { finalOutput } = await runner.run(agent, "Read the twelve files of settings.", { maxTurns: 20 });
console.log(finalOutput);
await archive?.close();
