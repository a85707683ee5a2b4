import { palimpsest } from "../../../src/hosts/adapters/strands.ts";
import { givenFor, type SentItem, toolNames } from "./agent-script.ts";
import { task } from "./ai-sdk-agent.ts";
import { type Driver, playsSixtyTurns } from "./framework.ts";

type Item = Readonly<Record<string, unknown>>;

const ofStrands: Driver = {
	packages: { "@strands-agents/sdk": "1.19.0" },
	checksReasoning: true,
	trimmings: {
		SlidingWindow: async (load) =>
			new (await load("@strands-agents/sdk")).SlidingWindowConversationManager({
				windowSize: 50,
				proactiveCompression: { compressionThreshold: 0.3 },
			}),
	},
	async play({ turns, provider, options, trimming, load }) {
		const sdk = await load("@strands-agents/sdk");
		const context = options && palimpsest(sdk, options);
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
			conversationManager: trimming ?? new sdk.NullConversationManager(),
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

playsSixtyTurns("strands", ofStrands);
