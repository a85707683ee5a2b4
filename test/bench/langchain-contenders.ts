import { type LangChainMessage, type LangChainMessages, langChainMessages } from "./conversation-shapes.ts";
import { exactCount } from "./exact-counter.ts";
import type { GuardContender } from "./guard-contenders.ts";
import { importPeer } from "./import-peer.ts";
import type { Survivor } from "./judge-outcome.ts";

interface LangChain {
	readonly ClearToolUsesEdit: new (
		options: object,
	) => {
		apply(input: {
			messages: LangChainMessage[];
			countTokens: (messages: LangChainMessage[]) => number;
		}): Promise<void>;
	};
}

const traits = { hasMessageIds: true, hasErrorFlags: true };

/** Both call it with a list; four tokens are added for each message, as the product adds them. */
function countMessages(messages: readonly LangChainMessage[]): number {
	return messages.reduce((sum, message) => sum + exactCount(textOf(message)) + 4, 0);
}

function textOf({ content, tool_calls = [] }: LangChainMessage): string {
	return [content, ...tool_calls.flatMap(({ name, args }) => [name, JSON.stringify(args)])].join("\n");
}

function survivorOf(message: LangChainMessage): Survivor {
	const { id, tool_calls = [], tool_call_id, status } = message;
	const type = message.getType();
	return {
		role: type === "human" ? "user" : type,
		id,
		text: textOf(message),
		calls: tool_calls.map((call) => call.id),
		results: tool_call_id === undefined ? [] : [{ callId: tool_call_id, failed: status === "error" }],
	};
}

const trimMessages: GuardContender = {
	name: "LangChain trimMessages",
	counts: "exact",
	traits,
	async load() {
		const classes = await importPeer<LangChainMessages>("@langchain/core/messages");
		return (messages, budget) => {
			const list = langChainMessages(classes, messages);
			const options = { maxTokens: budget, strategy: "last", includeSystem: true, tokenCounter: countMessages };
			return {
				run: () => classes.trimMessages(list, options),
				survivors: (answer) => (answer as LangChainMessage[]).map(survivorOf),
			};
		};
	},
};

const clearToolUses: GuardContender = {
	name: "LangChain ClearToolUsesEdit",
	counts: "exact",
	traits,
	async load() {
		const classes = await importPeer<LangChainMessages>("@langchain/core/messages");
		const { ClearToolUsesEdit } = await importPeer<LangChain>("langchain");
		return (messages, budget) => {
			// It works in place.
			const list = langChainMessages(classes, messages);
			const edit = new ClearToolUsesEdit({ trigger: { tokens: budget }, keep: { messages: 3 } });
			return {
				async run() {
					await edit.apply({ messages: list, countTokens: countMessages });
					return list;
				},
				survivors: (answer) => (answer as LangChainMessage[]).map(survivorOf),
			};
		};
	},
};

/** LangChain's two ways, both with the exact counter. */
export const langChainContenders: readonly GuardContender[] = [trimMessages, clearToolUses];
