import { join } from "node:path";
import { beforeEach, vi } from "vitest";
import { palimpsest as adk } from "../../../src/hosts/adapters/adk.ts";
import { palimpsest as mastra } from "../../../src/hosts/adapters/mastra.ts";
import { palimpsest as openaiAgents } from "../../../src/hosts/adapters/openai-agents.ts";
import { palimpsest as strands } from "../../../src/hosts/adapters/strands.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";
import { givenFor, type SentItem, toolNames } from "./agent-script.ts";
import { itemOf as itemOfPrompt, task } from "./ai-sdk-agent.ts";
import { type Driver, joinedItems, playsSixtyTurns } from "./framework.ts";

let folder: string;
beforeEach(async () => {
	folder = await scratchFolder();
	for (const name of Object.keys(process.env)) if (name.startsWith("PALIMPSEST_")) vi.stubEnv(name, undefined);
	vi.stubEnv("XDG_STATE_HOME", join(folder, "state"));
	return () => vi.unstubAllEnvs();
});

const openai: Driver = {
	packages: { "@openai/agents": "0.20.0", zod: "4.6.7" },
	modelId: "gpt-5.2",
	async play({ turns, provider, options, load }) {
		const { Agent, Runner, MemorySession, Usage, tool } = await load("@openai/agents");
		const context = options && openaiAgents({ model: "gpt-5.2", ...options });
		const model = {
			async getResponse({ input }: { input: string | readonly Item[] }) {
				await context?.settled();
				const turn = provider.requests.length;
				const items = typeof input === "string" ? [{ role: "user", content: input }] : input;
				const { usage, signature } = provider.receive(joinedItems(items.map(itemOf)));
				const calls = turns[turn];
				const reasoning = { type: "reasoning", id: `rs_${turn}`, content: [], providerData: { signature } };
				const said = {
					type: "message",
					role: "assistant",
					status: "completed",
					content: [{ type: "output_text", text: "Done." }],
				};
				const { input: fresh, read, output } = usage;
				return {
					usage: new Usage({
						requests: 1,
						inputTokens: Math.round(fresh + read),
						outputTokens: output,
						totalTokens: Math.round(fresh + read + output),
						inputTokensDetails: { cached_tokens: Math.round(read) },
					}),
					output: calls
						? [
								reasoning,
								...calls.map((call) => ({
									type: "function_call",
									callId: call.id,
									name: call.tool,
									status: "completed",
									arguments: JSON.stringify(call.input),
								})),
							]
						: [said],
					responseId: `resp_${turn}`,
				};
			},
		};
		const own = toolNames.map((name) =>
			tool({
				name,
				description: `Runs ${name}.`,
				parameters: {
					type: "object",
					properties: { path: { type: "string" } },
					required: ["path"],
					additionalProperties: false,
				},
				async execute(_: unknown, __: unknown, { toolCall }: { toolCall: { callId: string } }) {
					const { kind, text } = givenFor(turns, toolCall.callId);
					if (kind === "error") throw new Error(text);
					if (kind === "image") return [{ type: "image", image: `data:image/png;base64,${text}` }];
					return kind === "json" ? { rows: text.split("\n") } : text;
				},
			}),
		);
		const agent = new Agent({
			name: "A",
			instructions: "You are an agent.",
			model,
			tools: [...own, ...(context?.tools ?? [])],
		});
		const runner = new Runner({
			tracingDisabled: true,
			...(context && { callModelInputFilter: context.callModelInputFilter }),
		});
		const session = new MemorySession();
		const { history } = await runner.run(agent, task, { session, maxTurns: turns.length + 2 });
		return { history, stored: await session.getItems() };
	},
};

type Item = Readonly<Record<string, unknown>>;

function itemOf(item: Item): SentItem {
	const { type, role, callId } = item;
	const isResult = type === "function_call_result";
	const signature = (item.providerData as Item | undefined)?.signature;
	return {
		role: isResult ? "tool" : ((role as "user" | undefined) ?? "assistant"),
		calls: type === "function_call" ? [String(callId)] : [],
		results: isResult ? [String(callId)] : [],
		reasoning: signature === undefined ? [] : [String(signature)],
		text: JSON.stringify(item),
	};
}

playsSixtyTurns("openai-agents", openai, () => folder);

/** Stored messages have times and random ids. */
function withoutIds(messages: unknown): unknown {
	const dropped = new Set(["id", "createdAt", "startedAt", "completedAt"]);
	return JSON.parse(JSON.stringify(messages, (key, value) => (dropped.has(key) ? undefined : value)));
}

const ofMastra: Driver = {
	packages: { "@mastra/core": "1.71.0", zod: "4.6.7" },
	modelId: "claude-fable-5-2",
	checksReasoning: true,
	async play({ turns, provider, options, load }) {
		const { Agent } = await load("@mastra/core/agent");
		const { createTool } = await load("@mastra/core/tools");
		const { z } = await load("zod");
		const context = options && mastra(options);
		const model = {
			...{ specificationVersion: "v2", provider: "anthropic.messages", modelId: "claude-fable-5-2", supportedUrls: {} },
			async doStream({ prompt }: { prompt: Parameters<typeof itemOfPrompt>[0][] }) {
				await context?.settled();
				const turn = provider.requests.length;
				const { usage, signature } = provider.receive(prompt.map(itemOfPrompt));
				const signed = { id: "0", providerMetadata: { anthropic: { signature } } };
				const total = Math.round(usage.input + usage.read);
				const calls = turns[turn]?.map(({ id, tool, input }) => {
					return { type: "tool-call", toolCallId: id, toolName: tool, input: JSON.stringify(input) };
				});
				const said = [
					{ type: "text-start", id: "1" },
					{ type: "text-delta", id: "1", delta: "Done." },
					{ type: "text-end", id: "1" },
				];
				const parts = [
					{ type: "stream-start", warnings: [] },
					...(calls
						? [
								{ type: "reasoning-start", ...signed },
								{ type: "reasoning-delta", id: "0", delta: `Turn ${turn}.` },
								{ type: "reasoning-end", ...signed },
							]
						: []),
					...(calls ?? said),
					{
						type: "finish",
						finishReason: calls ? "tool-calls" : "stop",
						usage: {
							inputTokens: total,
							outputTokens: 60,
							totalTokens: total + 60,
							cachedInputTokens: Math.round(usage.read),
						},
					},
				];
				return { stream: ReadableStream.from(parts) };
			},
		};
		const own = Object.fromEntries(
			toolNames.map((name) => [
				name,
				createTool({
					id: name,
					description: `Runs ${name}.`,
					inputSchema: z.object({ path: z.string() }),
					async execute(_: unknown, { agent }: { agent: { toolCallId: string } }) {
						const { kind, text } = givenFor(turns, agent.toolCallId);
						if (kind === "error") throw new Error(text);
						return kind === "json" ? { rows: text.split("\n") } : text;
					},
					...(name === "screenshot" && {
						toModelOutput: (data: string) => ({
							type: "content",
							value: [{ type: "media", data, mediaType: "image/png" }],
						}),
					}),
				}),
			]),
		);
		const agent = new Agent({
			...{ id: "a", name: "a", instructions: "You are an agent.", model },
			tools: { ...own, ...context?.tools },
			...(context && { inputProcessors: [context], errorProcessors: [context] }),
		});
		const played = await agent.stream(task, {
			maxSteps: turns.length + 2,
			providerOptions: { anthropic: { cacheControl: { type: "ephemeral" } } },
		});
		await played.consumeStream();
		return withoutIds(played.messageList.get.all.db());
	},
};

playsSixtyTurns("mastra", ofMastra, () => folder);

const ofStrands: Driver = {
	packages: { "@strands-agents/sdk": "1.19.0" },
	modelId: "claude-fable-5-2",
	checksReasoning: true,
	async play({ turns, provider, options, load }) {
		const sdk = await load("@strands-agents/sdk");
		const context = options && strands(sdk, options);
		class ScriptedModel extends sdk.Model {
			updateConfig() {}
			getConfig() {
				return { modelId: "anthropic.claude-fable-5-2", cacheConfig: { strategy: "auto" } };
			}
			async *stream(messages: readonly { toJSON: () => Item }[]) {
				await context?.settled();
				const turn = provider.requests.length;
				const { usage, signature } = provider.receive(messages.map((message) => itemOfConverse(message.toJSON())));
				const calls = turns[turn];
				yield { type: "modelMessageStartEvent", role: "assistant" };
				yield { type: "modelContentBlockStartEvent" };
				const delta = calls
					? { type: "reasoningContentDelta", text: `Turn ${turn}.`, signature }
					: { type: "textDelta", text: "Done." };
				yield { type: "modelContentBlockDeltaEvent", delta };
				yield { type: "modelContentBlockStopEvent" };
				for (const { id: toolUseId, tool: name, input } of calls ?? []) {
					yield { type: "modelContentBlockStartEvent", start: { type: "toolUseStart", name, toolUseId } };
					yield {
						type: "modelContentBlockDeltaEvent",
						delta: { type: "toolUseInputDelta", input: JSON.stringify(input) },
					};
					yield { type: "modelContentBlockStopEvent" };
				}
				yield { type: "modelMessageStopEvent", stopReason: calls ? "toolUse" : "endTurn" };
				const total = Math.round(usage.input + usage.read + usage.output);
				const counts = { inputTokens: Math.round(usage.input), outputTokens: usage.output, totalTokens: total };
				yield { type: "modelMetadataEvent", usage: { ...counts, cacheReadInputTokens: Math.round(usage.read) } };
			}
		}
		const own = toolNames.map(
			(name) =>
				new sdk.FunctionTool({
					name,
					description: `Runs ${name}.`,
					inputSchema: { type: "object", properties: { path: { type: "string" } } },
					callback(_: unknown, { toolUse }: { toolUse: { toolUseId: string } }) {
						const { kind, text } = givenFor(turns, toolUse.toolUseId);
						if (kind === "error") throw new Error(text);
						return kind === "json" ? { rows: text.split("\n") } : text;
					},
				}),
		);
		const agent = new sdk.Agent({
			model: new ScriptedModel(),
			systemPrompt: "You are an agent.",
			tools: own,
			printer: false,
			conversationManager: new sdk.NullConversationManager(),
			...(context && { plugins: [context] }),
		});
		await agent.invoke(task);
		const kept = agent.messages.map((message: { toJSON: () => Item }) => message.toJSON());
		return JSON.parse(
			JSON.stringify(kept, (key, value) => (key === "trackingId" || key === "metadata" ? undefined : value)),
		);
	},
};

/** A message of Converse, as a provider takes it. */
function itemOfConverse({ trackingId: _, metadata: __, ...message }: Item): SentItem {
	const parts = message.content as readonly Readonly<Record<string, Item>>[];
	const results = parts.flatMap(({ toolResult }) => (toolResult ? [String(toolResult.toolUseId)] : []));
	return {
		role: results.length > 0 ? "tool" : (message.role as "user"),
		calls: parts.flatMap(({ toolUse }) => (toolUse ? [String(toolUse.toolUseId)] : [])),
		results,
		reasoning: parts.flatMap(({ reasoning }) => (reasoning ? [String(reasoning.signature)] : [])),
		text: JSON.stringify(message),
	};
}

playsSixtyTurns("strands", ofStrands, () => folder);

const ofAdk: Driver = {
	packages: { "@google/adk": "2.0.0" },
	modelId: "gemini-3-pro",
	async play({ turns, provider, options, load }) {
		const sdk = await load("@google/adk");
		const context = options && adk(sdk, options);
		class ScriptedModel extends sdk.BaseLlm {
			constructor() {
				super({ model: "gemini-3-pro" });
			}
			async *generateContentAsync({ contents }: { contents: readonly Item[] }) {
				await context?.settled();
				const turn = provider.requests.length;
				const { usage, signature } = provider.receive(contents.map(itemOfContent));
				const calls = turns[turn]?.map(({ id, tool: name, input: args }) => ({ functionCall: { id, name, args } }));
				const signed = { text: `Turn ${turn}.`, thought: true, thoughtSignature: signature };
				const read = Math.round(usage.read);
				const counts = { promptTokenCount: Math.round(usage.input) + read, cachedContentTokenCount: read };
				yield {
					content: { role: "model", parts: calls ? [signed, ...calls] : [{ text: "Done." }] },
					usageMetadata: { ...counts, candidatesTokenCount: 60 },
				};
			}
		}
		const own = toolNames.map(
			(name) =>
				new sdk.FunctionTool({
					name,
					description: `Runs ${name}.`,
					parameters: { type: "OBJECT", properties: { path: { type: "STRING" } } },
					execute(_: unknown, { functionCallId }: { functionCallId: string }) {
						const { kind, text } = givenFor(turns, functionCallId);
						if (kind === "error") return { error: text };
						return kind === "json" ? { rows: text.split("\n") } : text;
					},
				}),
		);
		const tools = [...own, ...(context?.tools ?? [])];
		const agent = new sdk.LlmAgent({ name: "a", model: new ScriptedModel(), instruction: "You are an agent.", tools });
		const runner = new sdk.InMemoryRunner({ agent, appName: "app", plugins: context ? [context.plugin] : [] });
		const { id: sessionId } = await runner.sessionService.createSession({ appName: "app", userId: "u" });
		const newMessage = { role: "user", parts: [{ text: task }] };
		const runConfig = { maxLlmCalls: turns.length + 2 };
		for await (const _ of runner.runAsync({ userId: "u", sessionId, newMessage, runConfig }));
		const session = await runner.sessionService.getSession({ appName: "app", userId: "u", sessionId });
		return session.events.map(({ author, content }: Item) => ({ author, content }));
	},
};

/** A content of Gemini. Its API takes results in any order after their calls. */
function itemOfContent(content: Item): SentItem {
	const parts = content.parts as readonly Item[];
	const ids = (key: string) => parts.flatMap((part) => (part[key] ? [String((part[key] as Item).id)] : []));
	const results = ids("functionResponse");
	const role = content.role === "model" ? "assistant" : "user";
	return {
		role: results.length > 0 ? "tool" : role,
		calls: ids("functionCall"),
		results,
		reasoning: [],
		text: JSON.stringify(content),
	};
}

playsSixtyTurns("adk", ofAdk, () => folder);
