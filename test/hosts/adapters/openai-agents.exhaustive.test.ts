import { palimpsest } from "../../../src/hosts/adapters/openai-agents.ts";
import { givenFor, type SentItem, toolNames } from "./agent-script.ts";
import { task } from "./ai-sdk-agent.ts";
import { type Driver, joinedItems, playsSixtyTurns } from "./framework.ts";

type Item = Readonly<Record<string, unknown>>;

const openai: Driver = {
	packages: { "@openai/agents": "0.20.0", zod: "4.6.7" },
	async play({ turns, provider, options, load }) {
		const { Agent, Runner, MemorySession, Usage, tool } = await load("@openai/agents");
		const context = options && palimpsest({ model: "gpt-5.2", ...options });
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

playsSixtyTurns("openai-agents", openai);
