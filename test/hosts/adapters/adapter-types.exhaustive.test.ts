import { spawnSync } from "node:child_process";
import { symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { packageFolder } from "../../support/built-cli.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";
import { hasFrameworks } from "./example-packages.ts";
import { installed } from "./framework.ts";

const compiler = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc");

/** What the compiler says of a program of a user. The built package is linked beside the framework. */
async function problemsOf(program: string, modules: string): Promise<string> {
	const folder = await scratchFolder();
	await writeFile(join(folder, "package.json"), JSON.stringify({ type: "module" }));
	await writeFile(join(folder, "user.ts"), program);
	await symlink(modules, join(folder, "node_modules"), "junction");
	await symlink(packageFolder, join(modules, "palimpsest-mcp"), "junction").catch(() => {});
	const flags = ["--noEmit", "--strict", "--skipLibCheck", "--target", "es2023", "--module", "nodenext", "--types", ""];
	return spawnSync(process.execPath, [compiler, ...flags, "user.ts"], { cwd: folder, encoding: "utf8" }).stdout;
}

it.skipIf(!hasFrameworks())(
	"programs with the AI SDK, LangChain and OpenAI Agents type-check with their adapters",
	async () => {
		const program = `import { openai } from "@ai-sdk/openai";
import { Agent, Runner, tool as agentsTool } from "@openai/agents";
import { generateText, streamText, ToolLoopAgent, tool as sdkTool, wrapLanguageModel } from "ai";
import { createAgent, tool } from "langchain";
import { palimpsest as ofSdk } from "palimpsest-mcp/ai-sdk";
import { palimpsest as ofLangchain } from "palimpsest-mcp/langchain";
import { palimpsest as ofAgents } from "palimpsest-mcp/openai-agents";
import { z } from "zod";

const schema = z.object({ path: z.string() });
const read = tool(async ({ path }: { path: string }) => path, { name: "read", description: "Reads.", schema });
export const agent = createAgent({ model: "openai:gpt-5.2", tools: [read], middleware: [ofLangchain({ archive: "memory" })] });
export const answer = await agent.invoke({ messages: [{ role: "user", content: "Read." }] });
export const last: unknown = answer.messages.at(-1)?.content;

const context = ofSdk();
const model = wrapLanguageModel({ model: openai("gpt-5.2"), middleware: context });
const tools = { read: sdkTool({ description: "Reads.", inputSchema: schema, execute: async ({ path }) => path }), ...context.tools };
export const { text } = await generateText({ model, tools, prompt: "Read." });
export const { textStream } = streamText({ model, tools, prompt: "Read." });
export const loop = new ToolLoopAgent({ model, tools });

const { callModelInputFilter, tools: ours } = ofAgents({ model: "gpt-5.2" });
const reads = agentsTool({ name: "read", description: "Reads.", parameters: schema, execute: async ({ path }) => path });
const reader = new Agent({ name: "Reader", instructions: "Read.", tools: [reads, ...ours] });
export const { finalOutput } = await new Runner({ callModelInputFilter }).run(reader, "Read.");
`;
		expect(await problemsOf(program, join(packageFolder, "examples/node_modules"))).toBe("");
	},
	300_000,
);

it.each([
	[
		"mastra",
		{ "@mastra/core": "1.71.0", zod: "4.6.7" },
		`import { Agent } from "@mastra/core/agent";
import { palimpsest } from "palimpsest-mcp/mastra";

const context = palimpsest();
export const agent = new Agent({
	...{ id: "a", name: "a", instructions: "Read.", model: "openai/gpt-5.2", tools: { ...context.tools } },
	inputProcessors: [context],
	errorProcessors: [context],
});
`,
	],
	[
		"strands",
		{ "@strands-agents/sdk": "1.19.0" },
		`import * as strands from "@strands-agents/sdk";
import { palimpsest } from "palimpsest-mcp/strands";

export const agent = new strands.Agent({ tools: [], plugins: [palimpsest(strands)] });
`,
	],
	[
		"adk",
		{ "@google/adk": "2.0.0" },
		`import * as adk from "@google/adk";
import { palimpsest } from "palimpsest-mcp/adk";

const context = palimpsest(adk);
const agent = new adk.LlmAgent({ name: "a", model: "gemini-3-pro", instruction: "Read.", tools: [...context.tools] });
export const runner = new adk.InMemoryRunner({ agent, appName: "a", plugins: [context.plugin] });
`,
	],
])(
	"a program with %s type-checks with its adapter",
	async (name, packages, program) => {
		const home = await installed(name, packages);
		expect(home === undefined ? "not installed" : await problemsOf(program, join(home, "node_modules"))).toBe("");
	},
	300_000,
);
