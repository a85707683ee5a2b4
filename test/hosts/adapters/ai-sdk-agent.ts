import type {
	LanguageModelV3,
	LanguageModelV3CallOptions,
	LanguageModelV3Content,
	LanguageModelV3Message,
	LanguageModelV3StreamPart,
} from "@ai-sdk/provider";
import type { generateText, ModelMessage, ToolSet, wrapLanguageModel } from "ai";
import * as version6 from "ai";
import { type agentTurns, givenFor, type ScriptedCall, type SentItem, type strictProvider } from "./agent-script.ts";

type Turns = ReturnType<typeof agentTurns>;

/** A model of the AI SDK that plays a script before a strict provider. */
export function scriptedModel(
	turns: Turns,
	provider: ReturnType<typeof strictProvider>,
	names: { readonly provider: string; readonly modelId: string },
): LanguageModelV3 {
	const answer = ({ prompt }: LanguageModelV3CallOptions) => {
		const turn = provider.requests.length;
		const { signature, usage } = provider.receive(prompt.map(itemOf));
		const calls = turns[turn];
		const signed = {
			type: "reasoning",
			text: `Turn ${turn}.`,
			providerMetadata: { anthropic: { signature } },
		} as const;
		const content: LanguageModelV3Content[] = calls
			? [signed, ...calls.map(callPart)]
			: [{ type: "text", text: "All turns are played." } as const];
		return {
			content,
			finishReason: { unified: calls ? "tool-calls" : "stop", raw: undefined } as const,
			usage: {
				inputTokens: { total: usage.input + usage.read, noCache: usage.input, cacheRead: usage.read, cacheWrite: 0 },
				outputTokens: { total: usage.output, text: usage.output, reasoning: 0 },
			},
			warnings: [],
		};
	};
	return {
		specificationVersion: "v3",
		...names,
		supportedUrls: {},
		doGenerate: async (params) => answer(params),
		doStream: async (params) => {
			const { content, finishReason, usage } = answer(params);
			const parts = content.flatMap((part, at): LanguageModelV3StreamPart[] => {
				const id = String(at);
				if (part.type === "tool-call") return [part];
				if (part.type !== "text" && part.type !== "reasoning") return [];
				const { type, text: delta, providerMetadata = {} } = part;
				return [
					{ type: `${type}-start`, id },
					{ type: `${type}-delta`, id, delta },
					{ type: `${type}-end`, id, providerMetadata },
				];
			});
			const all: LanguageModelV3StreamPart[] = [
				{ type: "stream-start", warnings: [] },
				...parts,
				{ type: "finish", finishReason, usage },
			];
			return { stream: ReadableStream.from(all) };
		},
	};
}

const callPart = ({ id, tool: toolName, input }: ScriptedCall) =>
	({ type: "tool-call", toolCallId: id, toolName, input: JSON.stringify(input) }) as const;

/** A message of a prompt as a provider takes it: `providerOptions` are no part of what it caches. */
export function itemOf(message: LanguageModelV3Message): SentItem {
	const parts = typeof message.content === "string" ? [] : message.content;
	const signatures = parts.flatMap((part) => {
		if (part.type !== "reasoning") return [];
		return [String(part.providerOptions?.anthropic?.signature)];
	});
	return {
		role: message.role,
		calls: parts.flatMap((part) => (part.type === "tool-call" ? [part.toolCallId] : [])),
		results: parts.flatMap((part) => (part.type === "tool-result" ? [part.toolCallId] : [])),
		reasoning: signatures,
		text: JSON.stringify(message),
	};
}

/** The tools of the script. A tool that fails throws, and a screenshot is sent as an image. */
export function scriptedTools(turns: Turns): ToolSet {
	const one = (name: string) =>
		version6.tool({
			description: `Runs ${name}.`,
			inputSchema: version6.jsonSchema<{ path: string }>({ type: "object", properties: { path: { type: "string" } } }),
			async execute(_, { toolCallId }) {
				const { kind, text } = givenFor(turns, toolCallId);
				if (kind === "error") throw new Error(text);
				return kind === "json" ? { rows: text.split("\n"), path: name } : text;
			},
			...(name === "screenshot"
				? {
						toModelOutput: ({ output }: { output: unknown }) => ({
							type: "content" as const,
							value: [{ type: "image-data" as const, data: String(output), mediaType: "image/png" }],
						}),
					}
				: {}),
		});
	return Object.fromEntries(["read_file", "grep", "run_tests", "screenshot", "query"].map((name) => [name, one(name)]));
}

export const task = "Find out where each value is read, and report all places.";

/** Runs the agent over a script. Returns what the SDK kept of each step. */
export async function runAgent(what: {
	readonly turns: Turns;
	readonly model: LanguageModelV3;
	/** Version 7 takes the same. */
	readonly sdk?: typeof version6;
	readonly tools?: ToolSet;
	readonly middleware?: Parameters<typeof wrapLanguageModel>[0]["middleware"];
	readonly settled?: () => Promise<void>;
	readonly prepareStep?: (messages: readonly ModelMessage[]) => ModelMessage[];
	readonly providerOptions?: Parameters<typeof generateText>[0]["providerOptions"];
}): Promise<(readonly ModelMessage[])[]> {
	const { sdk = version6, turns, model, tools = {}, middleware, settled, prepareStep, providerOptions } = what;
	const { steps } = await sdk.generateText({
		model: middleware ? sdk.wrapLanguageModel({ model, middleware }) : model,
		system: "You are an agent.",
		messages: [{ role: "user", content: task }],
		tools: { ...scriptedTools(turns), ...tools },
		stopWhen: sdk.stepCountIs(turns.length + 1),
		maxRetries: 0,
		...(providerOptions ? { providerOptions } : {}),
		prepareStep: async ({ messages }) => {
			await settled?.();
			return prepareStep ? { messages: prepareStep(messages) } : {};
		},
	});
	return steps.map(({ response }) => response.messages);
}
