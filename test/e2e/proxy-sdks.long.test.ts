import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import Anthropic from "@anthropic-ai/sdk";
import { type Content, GoogleGenAI } from "@google/genai";
import type * as VercelAi from "ai";
import OpenAI from "openai";
import { beforeAll, describe, expect, it } from "vitest";
import { resolvePolicy } from "../../src/engine/policy/layers.ts";
import { startProxy } from "../../src/proxy/server.ts";
import { isWhole } from "../support/breadth.ts";
import { packageFolder } from "../support/built-cli.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { finalText, writeProject } from "../support/scripted-session.ts";
import { type ProviderTotals, startStandInProvider } from "../support/stand-in-provider.ts";

const script = { toolTurns: 30, fileChars: 9_000 };
const task = "Read every module, one after the other.";
const description = "Runs a command.";
const parameters = {
	type: "object" as const,
	properties: { command: { type: "string" as const } },
	required: ["command"],
	additionalProperties: false,
};

let project: string;
beforeAll(async () => {
	project = join(await scratchFolder(), "project");
	await writeProject(project, script);
});

const runCommand = (command: string) => readFile(join(project, command.replace(/^cat /, "")), "utf8");

interface Play {
	readonly origin: string;
	readonly streams: boolean;
}

/** Each SDK in a loop as its users write it: run the tool, send everything again, until there is a text. */
const loops: Readonly<Record<string, (play: Play) => Promise<string>>> = {
	async anthropic({ origin, streams }) {
		const client = new Anthropic({ baseURL: origin, apiKey: "none" });
		const messages: Anthropic.MessageParam[] = [{ role: "user", content: task }];
		for (;;) {
			const request = {
				...{ model: "claude-opus-4-8", max_tokens: 1000, messages },
				tools: [{ name: "bash", description, input_schema: parameters }],
				cache_control: { type: "ephemeral" as const },
			};
			const answer = streams
				? await client.messages.stream(request).finalMessage()
				: await client.messages.create(request);
			const [block] = answer.content;
			if (block?.type !== "tool_use") return block?.type === "text" ? block.text : "";
			const content = await runCommand((block.input as { command: string }).command);
			messages.push({ role: "assistant", content: answer.content });
			messages.push({ role: "user", content: [{ type: "tool_result", tool_use_id: block.id, content }] });
		}
	},

	async "openai chat"({ origin, streams }) {
		const client = new OpenAI({ baseURL: `${origin}/v1`, apiKey: "none" });
		const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: task }];
		for (;;) {
			const tools = [{ type: "function" as const, function: { name: "bash", description, parameters } }];
			const request = { model: "gpt-5", messages, tools };
			const { choices } = streams
				? await client.chat.completions
						.stream({ ...request, stream_options: { include_usage: true } })
						.finalChatCompletion()
				: await client.chat.completions.create(request);
			const message = choices[0]?.message;
			const call = message?.tool_calls?.[0];
			if (message === undefined || call?.type !== "function") return message?.content ?? "";
			const content = await runCommand(JSON.parse(call.function.arguments).command);
			messages.push(message, { role: "tool", tool_call_id: call.id, content });
		}
	},

	async "openai responses"({ origin, streams }) {
		const client = new OpenAI({ baseURL: `${origin}/v1`, apiKey: "none" });
		const input: OpenAI.Responses.ResponseInputItem[] = [{ role: "user", content: task }];
		for (;;) {
			const tools = [{ type: "function" as const, name: "bash", description, parameters, strict: true }];
			const request = { model: "gpt-5", input, tools, store: false };
			const answer = streams
				? await client.responses.stream(request).finalResponse()
				: await client.responses.create(request);
			const [item] = answer.output;
			if (item?.type !== "function_call") return answer.output_text;
			const output = await runCommand(JSON.parse(item.arguments).command);
			input.push({ type: "function_call", call_id: item.call_id, name: item.name, arguments: item.arguments });
			input.push({ type: "function_call_output", call_id: item.call_id, output });
		}
	},

	async "google genai"({ origin, streams }) {
		const client = new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl: origin } });
		const contents: Content[] = [{ role: "user", parts: [{ text: task }] }];
		for (;;) {
			const declared = { name: "bash", description, parametersJsonSchema: parameters };
			const config = { tools: [{ functionDeclarations: [declared] }] };
			const request = { model: "gemini-2.5-pro", contents, config };
			let answer = streams ? undefined : await client.models.generateContent(request);
			for await (const piece of streams ? await client.models.generateContentStream(request) : []) answer = piece;
			const [call] = answer?.functionCalls ?? [];
			if (call === undefined) return answer?.text ?? "";
			const output = await runCommand(String(call.args?.command));
			contents.push({ role: "model", parts: [{ functionCall: call }] });
			contents.push({
				role: "user",
				parts: [{ functionResponse: { id: call.id ?? "", name: "bash", response: { output } } }],
			});
		}
	},

	"vercel ai, openai chat": ({ origin, streams }) =>
		playVercel({ streams, model: openaiOfVercel(origin).chat("gpt-5") }),
	"vercel ai, openai responses": ({ origin, streams }) =>
		playVercel({ streams, model: openaiOfVercel(origin)("gpt-5") }),
};

async function playVercel({
	streams,
	model,
}: {
	readonly streams: boolean;
	readonly model: VercelAi.LanguageModel;
}): Promise<string> {
	const { generateText, jsonSchema, stepCountIs, streamText, tool } = vercelAi;
	const bash = tool({
		description,
		inputSchema: jsonSchema<{ command: string }>(parameters),
		execute: ({ command }) => runCommand(command),
	});
	const request = { model, prompt: task, tools: { bash }, stopWhen: stepCountIs(script.toolTurns + 5) };
	if (!streams) return (await generateText(request)).text;
	return streamText(request).text;
}

type VercelProvider = ((model: string) => VercelAi.LanguageModel) & {
	readonly chat: (model: string) => VercelAi.LanguageModel;
};

/** Its newest version and its provider packages are dependencies of the examples alone. */
const vercelFolder = join(packageFolder, "examples/node_modules/@ai-sdk/openai");
const hasVercel = existsSync(vercelFolder);
let vercelAi: typeof VercelAi;
let openaiOfVercel: (origin: string) => VercelProvider;
beforeAll(async () => {
	if (!hasVercel) return;
	const { resolve } = createRequire(join(packageFolder, "examples/package.json"));
	vercelAi = await import(pathToFileURL(resolve("ai")).href);
	const { createOpenAI } = await import(pathToFileURL(resolve("@ai-sdk/openai")).href);
	openaiOfVercel = (origin) => createOpenAI({ baseURL: `${origin}/v1`, apiKey: "none" });
});

const policy = resolvePolicy([{ preset: "balanced" }]);

async function playThrough(name: string, way: { readonly streams: boolean; readonly proxied: boolean }) {
	const provider = await startStandInProvider({ script });
	const upstreams = { anthropic: provider.origin, openai: provider.origin, gemini: provider.origin };
	const proxy = way.proxied ? await startProxy({ port: 0, upstreams, policy }) : undefined;
	try {
		const origin = proxy ? `http://127.0.0.1:${proxy.port}` : provider.origin;
		const text = await loops[name]?.({ origin, streams: way.streams });
		return { text, totals: provider.totals(), ofProxy: proxy?.totals() };
	} finally {
		await proxy?.close();
		await provider.close();
	}
}

/** One form an SDK, streamed for every other one; all of them in `npm run test:all`. */
const ways = Object.keys(loops).flatMap((name, index) =>
	[false, true]
		.filter((streams) => isWhole || streams === (index % 2 === 0))
		.map((streams) => [name, streams] as const),
);

describe("an SDK with the proxy", () => {
	it.each(ways)(
		"%s gets the same last answer for fewer tokens and a smaller bill, streamed: %s",
		async (name, streams) => {
			if (name.startsWith("vercel") && !hasVercel) {
				process.stderr.write("Skipped: Vercel AI. Run `npm ci --prefix examples` first.\n");
				return;
			}
			const without = await playThrough(name, { streams, proxied: false });
			const behind = await playThrough(name, { streams, proxied: true });
			expect([without.text, behind.text]).toEqual([finalText(script), finalText(script)]);
			const [a, b]: readonly ProviderTotals[] = [without.totals, behind.totals] as const;
			expect(b.requests).toBe(a.requests);
			expect(b.sent / a.sent).toBeLessThan(0.75);
			expect(b.billed / a.billed).toBeLessThan(0.95);
			expect(b.cacheBreaks).toBeLessThanOrEqual(Math.ceil(b.requests / 10));
			expect(behind.ofProxy?.requests).toBe(b.requests);
			expect(behind.ofProxy?.tokensLeftOut).toBeGreaterThan(0);
		},
	);
});
