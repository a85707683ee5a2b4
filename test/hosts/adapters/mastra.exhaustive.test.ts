import { palimpsest } from "../../../src/hosts/adapters/mastra.ts";
import { givenFor, toolNames } from "./agent-script.ts";
import { itemOf as itemOfPrompt, task } from "./ai-sdk-agent.ts";
import { type Driver, playsSixtyTurns } from "./framework.ts";

/** Stored messages have times and random ids. */
function withoutIds(messages: unknown): unknown {
	const dropped = new Set(["id", "createdAt", "startedAt", "completedAt"]);
	return JSON.parse(JSON.stringify(messages, (key, value) => (dropped.has(key) ? undefined : value)));
}

const ofMastra: Driver = {
	packages: { "@mastra/core": "1.71.0", zod: "4.6.7" },
	checksReasoning: true,
	trimmings: {
		TokenLimiter: async (load) => new (await load("@mastra/core/processors")).TokenLimiterProcessor({ limit: 90_000 }),
		ToolCallFilter: async (load) =>
			new (await load("@mastra/core/processors")).ToolCallFilter({
				filterAfterToolSteps: 29,
			}),
	},
	async play({ turns, provider, options, trimming, load }) {
		const { Agent } = await load("@mastra/core/agent");
		const { createTool } = await load("@mastra/core/tools");
		const { z } = await load("zod");
		const context = options && palimpsest(options);
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
			...(trimming && { inputProcessors: [trimming] }),
		});
		const played = await agent.stream(task, {
			maxSteps: turns.length + 2,
			providerOptions: { anthropic: { cacheControl: { type: "ephemeral" } } },
		});
		await played.consumeStream();
		return withoutIds(played.messageList.get.all.db());
	},
};

playsSixtyTurns("mastra", ofMastra);
