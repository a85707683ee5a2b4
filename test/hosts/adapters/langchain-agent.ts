import type { palimpsest } from "../../../src/hosts/adapters/langchain.ts";
import { type agentTurns, givenFor, type SentItem, type strictProvider, toolNames } from "./agent-script.ts";
import { importOfExamples } from "./example-packages.ts";

/** The members of LangChain that are used here. Its packages are dependencies of the examples alone. */
export interface LangChain {
	readonly createAgent: (how: object) => {
		readonly invoke: (input: object, how: object) => Promise<{ readonly messages: readonly Message[] }>;
	};
	readonly createMiddleware: (how: object) => object;
	readonly contextEditingMiddleware: (how: object) => object;
	readonly ClearToolUsesEdit: new (how: object) => object;
	readonly tool: (run: (input: unknown, how: Config) => unknown, how: object) => object;
}

interface Config {
	readonly toolCall?: { readonly id: string };
}

export interface Message {
	readonly type: string;
	readonly content: unknown;
	readonly id?: string;
	readonly status?: string;
	readonly artifact?: unknown;
	readonly tool_call_id?: string;
	readonly tool_calls?: readonly { readonly id: string }[];
}

type Turns = ReturnType<typeof agentTurns>;
type Provider = ReturnType<typeof strictProvider>;

/** A chat model that plays a script before a strict provider. Its first answer to a person comes before all turns. */
async function scriptedModel(
	{ turns, provider, onSent }: Pick<Parameters<typeof runAgent>[0], "turns" | "provider" | "onSent">,
	name: string,
): Promise<object> {
	const { BaseChatModel } = await importOfExamples<{ BaseChatModel: new (how: object) => object }>(
		"@langchain/core/language_models/chat_models",
	);
	const { AIMessage } = await importOfExamples<{ AIMessage: new (how: object) => Message }>("@langchain/core/messages");
	class Scripted extends BaseChatModel {
		readonly model = name;
		_llmType() {
			return "scripted";
		}
		bindTools() {
			return this;
		}
		async _generate(messages: readonly Message[]) {
			const turn = provider.requests.length;
			onSent?.(messages);
			const { signature, usage } = provider.receive(messages.map(itemOf));
			const calls = turns[turn];
			// As LangChain's class for Anthropic has it: each call is in the content, too.
			const thinking = { type: "thinking", thinking: `Turn ${turn}.`, signature };
			const blocks = (calls ?? []).map(({ id, tool, input }) => ({ type: "tool_use", id, name: tool, input }));
			const message = new AIMessage({
				content: calls ? [thinking, ...blocks] : "All turns are played.",
				tool_calls: (calls ?? []).map(({ id, tool, input }) => ({ id, name: tool, args: input, type: "tool_call" })),
				usage_metadata: {
					...{ input_tokens: Math.round(usage.input + usage.read), output_tokens: usage.output },
					...{ total_tokens: Math.round(usage.input + usage.read) + usage.output },
					input_token_details: { cache_read: Math.round(usage.read) },
				},
			});
			return { generations: [{ text: "", message }] };
		}
	}
	return new Scripted({ maxRetries: 0 });
}

/** A message as a provider takes it: the ids of LangChain's messages and their usage are not sent. */
function itemOf({ type, content, tool_calls = [], tool_call_id, status }: Message): SentItem {
	const blocks = Array.isArray(content) ? (content as { readonly type?: string; readonly signature?: string }[]) : [];
	const role = ({ human: "user", ai: "assistant", tool: "tool" } as const)[type] ?? "system";
	return {
		role,
		calls: tool_calls.map(({ id }) => id),
		results: tool_call_id === undefined ? [] : [tool_call_id],
		reasoning: blocks.flatMap(({ type, signature }) => (type === "thinking" && signature ? [signature] : [])),
		text: JSON.stringify([role, content, tool_calls, tool_call_id, status]),
	};
}

/** Runs an agent of LangChain over a script. Returns the messages in its checkpoint. */
export async function runAgent(what: {
	readonly turns: Turns;
	readonly provider: Provider;
	readonly model?: string;
	/** Sees the messages of each request. */
	readonly onSent?: (messages: readonly Message[]) => void;
	readonly middleware?: readonly object[];
	readonly settled?: ReturnType<typeof palimpsest>["settled"];
}): Promise<readonly Message[]> {
	const { turns, middleware = [], settled } = what;
	const { createAgent, tool, createMiddleware } = await importOfExamples<LangChain>("langchain");
	const { MemorySaver } = await importOfExamples<{ MemorySaver: new () => object }>("@langchain/langgraph");
	const one = (name: string) =>
		tool(
			(_, { toolCall }) => {
				const { kind, text } = givenFor(turns, toolCall?.id ?? "");
				if (kind === "error") throw new Error(text);
				if (kind === "json") return { rows: text.split("\n"), path: name };
				return kind === "image" ? [{ type: "image", data: text, mimeType: "image/png" }] : text;
			},
			{
				...{ name, description: `Runs ${name}.` },
				schema: { type: "object", properties: { path: { type: "string" } } },
			},
		);
	const toolErrors = createMiddleware({
		name: "errors",
		async wrapToolCall(request: { toolCall: { id: string; name: string } }, run: (request: object) => unknown) {
			try {
				return await run(request);
			} catch (error) {
				const { ToolMessage } = await importOfExamples<{ ToolMessage: new (how: object) => Message }>(
					"@langchain/core/messages",
				);
				const { id, name } = request.toolCall;
				return new ToolMessage({ content: String(error), tool_call_id: id, name, status: "error", artifact: { id } });
			}
		},
		beforeModel: () => settled?.(),
	});
	const agent = createAgent({
		model: await scriptedModel(what, what.model ?? "gpt-5.2"),
		tools: toolNames.map(one),
		middleware: [toolErrors, ...middleware],
		checkpointer: new MemorySaver(),
		systemPrompt: "You are an agent.",
	});
	const { messages } = await agent.invoke(
		{ messages: [{ role: "user", content: "Find out where each value is read." }] },
		{ recursionLimit: 1_000, configurable: { thread_id: "one" } },
	);
	return messages;
}
