import { type PromptMessage, promptMessages } from "./conversation-shapes.ts";
import type { GuardContender } from "./guard-contenders.ts";
import { importPeer } from "./import-peer.ts";
import type { Survivor } from "./judge-outcome.ts";

interface Vercel {
	readonly pruneMessages: (options: object) => PromptMessage[];
}

interface PromptProcessor {
	processLLMRequest(request: object): Promise<{ prompt: PromptMessage[] } | undefined>;
}

interface Mastra {
	readonly ToolCallFilter: new (options: object) => PromptProcessor;
	readonly TokenLimiterProcessor: new (options: object) => PromptProcessor;
}

const traits = { hasMessageIds: false, hasErrorFlags: true };

function survivorOf({ role, content }: PromptMessage): Survivor {
	if (typeof content === "string") return { role, text: content, calls: [], results: [] };
	const calls = content.filter(({ type }) => type === "tool-call");
	const results = content.filter(({ type }) => type === "tool-result");
	const texts = content.map(({ text, toolName, input, output }) =>
		input === undefined ? (text ?? output?.value ?? "") : `${toolName}\n${JSON.stringify(input)}`,
	);
	return {
		role,
		text: texts.join("\n"),
		calls: calls.map(({ toolCallId = "" }) => toolCallId),
		results: results.map(({ toolCallId = "", output }) => ({
			callId: toolCallId,
			failed: output?.type === "error-text",
		})),
	};
}

const survivors = (answer: unknown) => (answer as PromptMessage[]).map(survivorOf);

const pruneMessages: GuardContender = {
	name: "Vercel pruneMessages",
	counts: "none",
	traits,
	async load() {
		const vercel = await importPeer<Vercel>("ai");
		return (messages) => {
			const options = { toolCalls: "before-last-20-messages", reasoning: "all", emptyMessages: "remove" };
			const prompt = promptMessages(messages);
			return { run: async () => vercel.pruneMessages({ messages: prompt, ...options }), survivors };
		};
	},
};

function mastra(
	name: string,
	counts: GuardContender["counts"],
	create: (mastra: Mastra, budget: number) => PromptProcessor,
): GuardContender {
	return {
		name,
		counts,
		traits,
		async load() {
			const processors = await importPeer<Mastra>("@mastra/core/processors");
			return (messages, budget) => {
				const prompt = promptMessages(messages);
				const processor = create(processors, budget);
				return {
					run: async () => (await processor.processLLMRequest({ prompt, state: {} }))?.prompt ?? prompt,
					survivors,
				};
			};
		},
	};
}

/** Vercel's and Mastra's ways, which work on the same prompt messages. Mastra's limiter estimates and cannot be given a counter. */
export const promptContenders: readonly GuardContender[] = [
	pruneMessages,
	mastra("Mastra ToolCallFilter", "none", ({ ToolCallFilter }) => new ToolCallFilter({ filterAfterToolSteps: 10 })),
	mastra(
		"Mastra TokenLimiterProcessor",
		"estimated",
		({ TokenLimiterProcessor }, limit) => new TokenLimiterProcessor({ limit, trimMode: "contiguous" }),
	),
];
