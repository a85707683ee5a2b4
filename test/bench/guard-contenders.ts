import type * as Library from "../../src/index.ts";
import { anthropicRequest, openaiMessages } from "./conversation-shapes.ts";
import type { Message } from "./generate-conversation.ts";
import { importBuilt } from "./import-built.ts";
import type { FormatTraits, Survivor } from "./judge-outcome.ts";
import { langChainContenders } from "./langchain-contenders.ts";
import { promptContenders } from "./prompt-contenders.ts";

/** Something that makes a conversation smaller. */
export interface GuardContender {
	readonly name: string;
	/** How it decides: by exact counts of tokens, by estimates, or by no count at all. */
	readonly counts: "exact" | "estimated" | "none";
	readonly traits: FormatTraits;
	/** Imports what it needs; answers what makes a run of its own from a conversation and a budget in tokens. */
	readonly load: () => Promise<(messages: readonly Message[], budget: number) => GuardRun>;
}

/** One run on a copy of its own. */
export interface GuardRun {
	readonly run: () => Promise<unknown>;
	/** Reads what `run` answered. */
	readonly survivors: (answer: unknown) => Survivor[];
}

type Guard = typeof Library.guard;

const loadGuard = async (): Promise<Guard> => (await importBuilt<typeof Library>("index.ts")).guard;

async function guarded(guard: Guard, conversation: unknown, budget: number): Promise<unknown> {
	const outcome = await guard(conversation, {
		contextWindow: budget,
		reserveTokens: 0,
		model: "gpt-4o",
		policy: { locale: "en" },
	});
	if (outcome.error) throw outcome.error;
	return outcome.conversation;
}

const palimpsestOpenai: GuardContender = {
	name: "palimpsest guard (OpenAI chat)",
	counts: "exact",
	traits: { hasMessageIds: true, hasErrorFlags: false },
	async load() {
		const guard = await loadGuard();
		return (messages, budget) => {
			const conversation = JSON.parse(JSON.stringify(openaiMessages(messages)));
			return {
				run: () => guarded(guard, conversation, budget),
				survivors: (answer) => (answer as OpenaiMessage[]).map(survivorOfOpenai),
			};
		};
	},
};

interface OpenaiMessage {
	readonly role: string;
	readonly id?: string;
	readonly content: string;
	readonly tool_call_id?: string;
	readonly tool_calls?: readonly { readonly id: string; readonly function: { name: string; arguments: string } }[];
}

function survivorOfOpenai({ role, id, content, tool_call_id, tool_calls = [] }: OpenaiMessage): Survivor {
	return {
		role,
		id,
		text: [content, ...tool_calls.flatMap((call) => [call.function.name, call.function.arguments])].join("\n"),
		calls: tool_calls.map((call) => call.id),
		results: tool_call_id === undefined ? [] : [{ callId: tool_call_id, failed: false }],
	};
}

const palimpsestAnthropic: GuardContender = {
	name: "palimpsest guard (Anthropic)",
	counts: "exact",
	traits: { hasMessageIds: false, hasErrorFlags: true },
	async load() {
		const guard = await loadGuard();
		return (messages, budget) => {
			const conversation = JSON.parse(JSON.stringify(anthropicRequest(messages)));
			return {
				run: () => guarded(guard, conversation, budget),
				survivors: (answer) => {
					const request = answer as { system: string; messages: AnthropicMessage[] };
					return [{ role: "system", content: request.system }, ...request.messages].map(survivorOfAnthropic);
				},
			};
		};
	},
};

interface AnthropicMessage {
	readonly role: string;
	readonly content: string | readonly Record<string, unknown>[];
}

function survivorOfAnthropic({ role, content }: AnthropicMessage): Survivor {
	if (typeof content === "string") return { role, text: content, calls: [], results: [] };
	const blocks = (type: string) => content.filter((block) => block.type === type);
	const calls = blocks("tool_use").map(({ name, input }) => `${name}\n${JSON.stringify(input)}`);
	const results = blocks("tool_result").map(({ content: text }) => String(text));
	return {
		role,
		text: [...blocks("text").map(({ text }) => String(text)), ...calls, ...results].join("\n"),
		calls: blocks("tool_use").map(({ id }) => String(id)),
		results: blocks("tool_result").map((block) => ({
			callId: String(block.tool_use_id),
			failed: block.is_error === true,
		})),
	};
}

/** All that are compared; the first is what the others are held against. */
export const guardContenders: readonly GuardContender[] = [
	palimpsestOpenai,
	palimpsestAnthropic,
	...langChainContenders,
	...promptContenders,
];
